import { useMutation } from "@tanstack/react-query";
import { type KeyboardEvent, type RefObject, useEffect, useState } from "react";
import { gateway } from "../api/gateway";
import { Button } from "../ui/Button";
import { INPUT } from "../ui/inputs";
import { forgetDraft, keepDraft, readDraft } from "./drafts";

interface Props {
  sessionId: string;
  /** What waits is answered by its card: these words come after it. */
  waits: boolean;
  box: RefObject<HTMLTextAreaElement | null>;
}

/** Room to write to the agent. What is written here answers no ask. */
export function Composer({ sessionId, waits, box }: Props) {
  const draft = `message:${sessionId}`;
  const [text, setText] = useState(() => readDraft<string>(draft) ?? "");
  useEffect(() => setText(readDraft<string>(draft) ?? ""), [draft]);
  const write = (next: string) => {
    setText(next);
    if (next) keepDraft(draft, next);
    else forgetDraft(draft);
  };
  const send = useMutation({ mutationFn: () => gateway.say(sessionId, text.trim()), onSuccess: () => write("") });
  const submit = () => {
    if (!text.trim() || send.isPending) return;
    send.mutate();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Leaves: from here on letters are keys again.
    if (event.key === "Escape") box.current?.blur();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    // On a phone Enter is the only way to a new line.
    if (matchMedia("(pointer: coarse)").matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      className="mt-2 shrink-0"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <p role="alert" className="text-xs text-denied empty:hidden">
        {send.error && `Not sent: ${send.error.message} Your text is kept.`}
      </p>
      <div className="mt-1 flex items-end gap-2">
        <textarea
          ref={box}
          rows={1}
          value={text}
          onChange={(event) => write(event.target.value)}
          onKeyDown={onKeyDown}
          placeholder={waits ? "Write to the agent. It reads this after the ask." : "Write to the agent"}
          aria-label="Message to the agent"
          className={`${INPUT} field-sizing-content max-h-40 resize-none`}
        />
        <Button look="solid" type="submit" aria-label="Send message" disabled={send.isPending || !text.trim()}>
          Send
        </Button>
      </div>
    </form>
  );
}
