import { useId } from "react";
import { isRounded, parseExact } from "../api/exact";
import { reasonOf } from "../api/problem";
import { plain } from "../text/visible";
import { Button } from "../ui/Button";
import { INPUT } from "../ui/inputs";
import { useCard } from "./card";
import { Decide } from "./Decide";
import { commandOf } from "./words";

export type Edited = { is: "same" } | { is: "changed"; value: unknown } | { is: "wrong"; words: string };

/** What the text in the editor amounts to. A command is edited as it is, everything else as JSON. */
export function readEdit(input: unknown, text: string): Edited {
  if (commandOf(input) !== null) {
    const value = { ...(input as object), command: text };
    if (text.trim() === "") return { is: "wrong", words: "A command cannot be empty. To have nothing run, deny it." };
    return text === commandOf(input) ? { is: "same" } : { is: "changed", value };
  }
  try {
    const value = parseExact(text);
    if (isRounded(value)) return { is: "wrong", words: "A number here is too large for this browser to send exactly." };
    return JSON.stringify(value) === JSON.stringify(input) ? { is: "same" } : { is: "changed", value };
  } catch (error) {
    return { is: "wrong", words: `Not JSON yet: ${reasonOf(error)}` };
  }
}

export const editText = (input: unknown): string => commandOf(input) ?? plain(input);

interface Props {
  input: unknown;
  text: string;
  onText: (text: string) => void;
  onApprove: (editedInput: unknown) => void;
}

/** Change the input before approving it. The original stays in sight above, struck through. */
export function EditPanel({ input, text, onText, onApprove }: Props) {
  const { setPanel, answering } = useCard();
  const id = useId();
  const edited = readEdit(input, text);
  const isCommand = commandOf(input) !== null;
  const error = edited.is === "wrong" ? edited.words : (Object.values(answering.fieldErrors)[0] ?? null);
  return (
    <div className="grid gap-2">
      <label htmlFor={id} className="font-medium">
        Change the {isCommand ? "command" : "input"}. The agent is told that you did.
      </label>
      <textarea
        id={id}
        rows={Math.min(12, Math.max(3, text.split("\n").length))}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this box
        autoFocus
        spellCheck={false}
        value={text}
        aria-invalid={error !== null || undefined}
        onChange={(event) => onText(event.target.value)}
        className={`${INPUT} resize-y font-mono text-mono`}
      />
      <p role="status" className="text-xs text-denied empty:hidden">
        {error}
      </p>
      <div className="flex flex-wrap gap-2">
        <Decide disabled={edited.is !== "changed"} onDecide={() => edited.is === "changed" && onApprove(edited.value)}>
          Approve edited {isCommand ? "command" : "input"}
        </Decide>
        <Button look="quiet" onClick={() => setPanel(null)}>
          Back
        </Button>
      </div>
    </div>
  );
}
