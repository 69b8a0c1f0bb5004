import type { InteractionRequest } from "../api/generated";
import { rangesOf } from "../text/fold";
import { Danger, withMarks } from "../text/Lines";
import { Shown } from "../text/Shown";
import { commandOf, ending, headline, isShort } from "./words";

/** What will happen, first: a short command is its own headline, a long one says how it ends. */
export function Headline({ request }: { request: InteractionRequest }) {
  const command = request.kind === "approval" ? commandOf(request.input) : null;
  if (command === null) {
    return (
      <h2 className="line-clamp-6 max-w-[68ch] text-lg font-semibold wrap-anywhere whitespace-pre-wrap">
        {headline(request)}
      </h2>
    );
  }
  const marks = (request.marks ?? []).map((mark) => mark.text);
  if (isShort(command)) {
    return (
      <h2 className="font-mono text-command font-medium wrap-anywhere whitespace-pre-wrap [direction:ltr] [unicode-bidi:isolate]">
        {withMarks(command, 0, command.length, rangesOf(command, marks))}
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
          <code className="font-mono text-[0.92em]">
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
