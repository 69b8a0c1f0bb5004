import { Payload } from "../text/Payload";
import { Shown } from "../text/Shown";
import { plain } from "../text/visible";
import { commandOf } from "./words";

/** The raw input, whole, every part of it under its own name. */
export function InputView({ input, without = [] }: { input: unknown; without?: string[] }) {
  if (input === null || typeof input !== "object" || Array.isArray(input)) return <Payload text={plain(input)} />;
  const command = commandOf(input);
  const parts = Object.entries(input).filter(
    ([key]) => !(command !== null && key === "command") && !without.includes(key),
  );
  if (command === null && parts.length === 0 && without.length === 0)
    return <p className="text-ink-2">It takes no input.</p>;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      {command !== null && <Payload text={command} lead="$ " />}
      {parts.length > 0 && (
        <dl className="grid grid-cols-[minmax(0,1fr)] gap-1">
          {parts.map(([key, value]) => (
            <div key={key}>
              <dt className="mb-1 font-mono text-xs text-ink-2">
                <Shown text={key} where="payload" />
              </dt>
              <dd>
                <Payload text={plain(value)} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}
