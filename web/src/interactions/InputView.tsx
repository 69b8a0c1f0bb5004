import { Lines } from "../text/Lines";
import { Payload } from "../text/Payload";
import { Shown } from "../text/Shown";
import { plain } from "../text/visible";
import { isShort } from "./words";

interface Props {
  input: unknown;
  /** The shell line among it. A short one stands in the headline. */
  command: string | null;
  /** What is risky in it, as it stands there. */
  marked: string[];
  /** Parts that are shown elsewhere. */
  without: string[];
  whole: boolean;
  onWhole: () => void;
}

/** The raw input, whole, every part of it under its own name. */
export function InputView({ input, command, marked, without, whole, onWhole }: Props) {
  const lines = (text: string) => <Lines text={text} marked={marked} whole={whole} onWhole={onWhole} />;
  if (input === null || typeof input !== "object" || Array.isArray(input)) return lines(plain(input));
  const parts = Object.entries(input).filter(
    ([key]) => !(command !== null && key === "command") && !without.includes(key),
  );
  if (command === null && parts.length === 0 && without.length === 0)
    return <p className="text-ink-2">It takes no input.</p>;
  if (parts.length === 0 && (command === null || isShort(command))) return null;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      {command !== null && !isShort(command) && lines(command)}
      {parts.length > 0 && (
        <dl className="grid grid-cols-[minmax(0,1fr)] gap-1">
          {parts.map(([key, value]) => (
            <div key={key}>
              <dt className="mb-1 font-mono text-xs wrap-anywhere text-ink-3">
                <Shown text={key} where="payload" />
              </dt>
              <dd>
                <Part text={plain(value)} lines={lines} marked={marked} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

const SHORT = 400;

/** A value of one line needs no numbers. */
function Part({ text, lines, marked }: { text: string; lines: (text: string) => React.ReactNode; marked: string[] }) {
  const isPlain = !text.includes("\n") && text.length <= SHORT && !marked.some((mark) => text.includes(mark));
  return isPlain ? <Payload text={text} /> : lines(text);
}
