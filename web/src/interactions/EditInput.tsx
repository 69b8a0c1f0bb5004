import { useId } from "react";
import { isRounded, parseExact } from "../api/exact";
import type { InteractionRequest } from "../api/generated";
import { reasonOf } from "../api/problem";
import { plain } from "../text/visible";
import { Button } from "../ui/Button";
import { INPUT } from "../ui/inputs";
import { Key } from "../ui/Kbd";
import { useCard } from "./card";
import { Decide } from "./Decide";
import { fileOf, lineOf } from "./words";

export type Edited = { is: "same" } | { is: "changed"; value: unknown } | { is: "wrong"; words: string };

type Request = Extract<InteractionRequest, { kind: "approval" }>;

interface Editable {
  /** The field of the input that a person edits, as the text it is; null: all of it, as JSON. */
  field: "command" | "new_string" | "content" | null;
  text: string;
  /** What is edited, in words. */
  name: "command" | "new text" | "input";
}

/** A box on a page turns every kind of line end into one: text with others would change unseen. */
const canHold = (text: unknown): text is string => typeof text === "string" && !text.includes("\r");

/** What of an input is edited: a shell line, the new text of a file, or else the whole as JSON. */
export function editable(request: Request): Editable {
  const { input } = request;
  const command = lineOf(request);
  if (canHold(command)) return { field: "command", text: command, name: "command" };
  const { new_string, content } = (input ?? {}) as Record<string, unknown>;
  if (fileOf(input) !== null) {
    if (canHold(new_string)) return { field: "new_string", text: new_string, name: "new text" };
    if (canHold(content)) return { field: "content", text: content, name: "new text" };
  }
  return { field: null, text: plain(input), name: "input" };
}

/** What the text in the editor amounts to. */
export function readEdit(request: Request, text: string): Edited {
  const { input } = request;
  const { field, text: before } = editable(request);
  if (field !== null) {
    if (field === "command" && text.trim() === "")
      return { is: "wrong", words: "A command cannot be empty. To have nothing run, deny it." };
    return text === before ? { is: "same" } : { is: "changed", value: { ...(input as object), [field]: text } };
  }
  try {
    const value = parseExact(text);
    if (isRounded(value)) return { is: "wrong", words: "A number here is too large for this browser to send exactly." };
    return JSON.stringify(value) === JSON.stringify(input) ? { is: "same" } : { is: "changed", value };
  } catch (error) {
    return { is: "wrong", words: `Not JSON yet: ${reasonOf(error)}` };
  }
}

export const editText = (request: Request): string => editable(request).text;

interface Props {
  request: Request;
  text: string;
  onText: (text: string) => void;
  onApprove: (editedInput: unknown) => void;
}

/** Change the input before approving it. The original stays in sight above, struck through. */
export function EditPanel({ request, text, onText, onApprove }: Props) {
  const { setPanel, answering } = useCard();
  const id = useId();
  const edited = readEdit(request, text);
  const { name, text: before } = editable(request);
  const error = edited.is === "wrong" ? edited.words : (Object.values(answering.fieldErrors)[0] ?? null);
  return (
    <div className="grid gap-2">
      <label htmlFor={id} className="font-medium">
        Change the {name}. The agent is told that you did.
      </label>
      <textarea
        id={id}
        rows={Math.min(name === "new text" ? 24 : 12, Math.max(3, text.split("\n").length))}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this box
        autoFocus
        spellCheck={false}
        value={text}
        aria-invalid={error !== null || undefined}
        onChange={(event) => onText(event.target.value)}
        className={`${INPUT} max-h-[45dvh] resize-y font-mono text-mono`}
      />
      <p role="status" className="text-xs text-denied empty:hidden">
        {error}
      </p>
      <div className="flex flex-wrap gap-2">
        <Decide disabled={edited.is !== "changed"} onDecide={() => edited.is === "changed" && onApprove(edited.value)}>
          Approve edited {name} <Key>Ctrl Enter</Key>
        </Decide>
        {edited.is !== "same" && (
          <Button onClick={() => onText(before)}>Back to the agent's {name === "input" ? "input" : name}</Button>
        )}
        <Button look="quiet" onClick={() => setPanel(null)}>
          Back <Key>Esc</Key>
        </Button>
      </div>
    </div>
  );
}
