import type { InteractionRequest } from "../api/generated";
import { countDiff } from "../text/diff";
import { rangesOf } from "../text/fold";
import { Danger, withMarks } from "../text/Lines";
import { Shown } from "../text/Shown";
import { brief } from "../text/visible";
import { author, ending, fileName, fileOf, headline, isShort, lineOf, planOf } from "./words";

/** The tool, and what will happen: a short command is its own headline, a long one says how it ends. */
export function Headline({ request }: { request: InteractionRequest }) {
  return (
    <div data-happens>
      <Asked request={request} />
      <Happens request={request} />
    </div>
  );
}

/** Who asks, and with which tool. The headline of a program's or a tool's approval says both itself. */
function Asked({ request }: { request: InteractionRequest }) {
  const { kind, origin, toolName } = request;
  if (kind === "approval" && (origin === "tool" || origin === "caller")) return null;
  return (
    <p className="pb-0.5 text-xs wrap-anywhere text-ink-2">
      {author(request)} {kind === "approval" ? "calls" : "asks with"}{" "}
      <code className="font-mono">{brief(toolName)}</code>
    </p>
  );
}

function Happens({ request }: { request: InteractionRequest }) {
  const command = lineOf(request);
  const isEdit =
    request.kind === "approval" && request.preview && (request.origin === "agent" || request.origin === "attached");
  const file = isEdit ? fileOf(request.input) : null;
  if (command === null && file !== null && request.kind === "approval" && planOf(request) === null) {
    const [more, less] = countDiff(request.preview ?? "").split(" ");
    return (
      <h2 className="text-lg font-semibold wrap-anywhere">
        Edit <code className="font-mono text-command font-medium">{fileName(file, request.cwd)}</code>{" "}
        <span className="text-approved">{more}</span> <span className="text-denied">{less}</span>
      </h2>
    );
  }
  if (command === null) {
    return (
      <h2 className="line-clamp-6 max-w-[68ch] text-lg font-semibold wrap-anywhere whitespace-pre-wrap">
        {headline(request)}
      </h2>
    );
  }
  const marks = (request.marks ?? []).map((mark) => mark.text);
  if (isShort(command)) {
    const ranges = rangesOf(command, marks);
    return (
      <h2 className="font-mono text-command font-medium wrap-anywhere whitespace-pre-wrap [direction:ltr] [unicode-bidi:isolate]">
        {wordsOf(command).map(({ from, to, isSpace }) => (
          // It breaks between words, never inside a flag.
          <span key={from} className={isSpace ? "" : "inline-block max-w-full"}>
            {withMarks(command, from, to, ranges)}
          </span>
        ))}
      </h2>
    );
  }
  const { lead, words } = ending(command, marks);
  return (
    <h2 className="max-w-[68ch] text-lg font-semibold wrap-anywhere">
      {lead}{" "}
      {words.map((word, at) => (
        <span key={word}>
          {at > 0 && " and "}
          <code className="inline-block max-w-full font-mono text-[0.92em]">
            {marks.length > 0 ? (
              <Danger>
                <Shown text={word} where="payload" />
              </Danger>
            ) : (
              <Shown text={word} where="payload" />
            )}
          </code>
        </span>
      ))}
    </h2>
  );
}

/** A command's words and what is between them. */
function wordsOf(command: string): { from: number; to: number; isSpace: boolean }[] {
  return [...command.matchAll(/\s+|\S+/g)].map(({ 0: word, index }) => ({
    from: index,
    to: index + word.length,
    isSpace: word.trim() === "",
  }));
}
