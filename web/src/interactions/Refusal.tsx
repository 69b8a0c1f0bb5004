import { useId, useRef } from "react";
import { Button } from "../ui/Button";
import { INPUT } from "../ui/inputs";
import { Key } from "../ui/Kbd";
import { useCard } from "./card";
import { Decide } from "./Decide";

interface Props {
  /** `Deny` or `Decline`. */
  word: string;
  question: string;
  reason: string;
  onReason: (reason: string) => void;
  onRefuse: (reason: string | undefined, after?: "stop") => void;
  /** Its turn can be stopped with it. */
  canStop?: boolean;
}

/** Room for a reason, in place of the actions. Blank is allowed. */
export function RefusalPanel({ word, question, reason, onReason, onRefuse, canStop = false }: Props) {
  const { setPanel } = useCard();
  const id = useId();
  const said = reason.trim() || undefined;
  return (
    <div className="grid gap-2">
      <label htmlFor={id} className="font-medium">
        {question}
      </label>
      <textarea
        id={id}
        rows={3}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this box
        autoFocus
        value={reason}
        onChange={(event) => onReason(event.target.value)}
        className={`${INPUT} resize-y`}
      />
      <div className="flex flex-wrap gap-2">
        <Decide onDecide={() => onRefuse(said)}>
          {word} <Key>Ctrl Enter</Key>
        </Decide>
        {canStop && (
          <Decide look="outlined" onDecide={() => onRefuse(said, "stop")}>
            {word} and stop the turn
          </Decide>
        )}
        <Button look="quiet" onClick={() => setPanel(null)}>
          Back <Key>Esc</Key>
        </Button>
      </div>
    </div>
  );
}

/** The button that refuses, or that opens the room for a reason where the agent can read one. */
export function RefuseButton({ word, canSay, onRefuse }: { word: string; canSay: boolean; onRefuse: () => void }) {
  const { setPanel } = useCard();
  const button = useRef<HTMLButtonElement>(null);
  if (!canSay) {
    return (
      <Decide
        look="outlined"
        className="ml-auto max-wide:order-3 max-wide:ml-0 max-wide:min-h-13"
        onDecide={onRefuse}
        name="refuse"
      >
        {word}
      </Decide>
    );
  }
  return (
    <Button
      ref={button}
      className="ml-auto max-wide:order-3 max-wide:ml-0 max-wide:min-h-13"
      onClick={() => setPanel("refuse")}
    >
      {word}… <Key>D</Key>
    </Button>
  );
}
