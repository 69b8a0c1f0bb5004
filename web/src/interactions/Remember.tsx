import { useEffect, useId, useRef } from "react";
import type { OfferedScope } from "../api/generated";
import { Button } from "../ui/Button";
import { Key } from "../ui/Kbd";
import { useCard } from "./card";
import { Decide } from "./Decide";
import { RuleLine } from "./Facts";
import { LIFETIME, lineOf, ruleWords } from "./words";

interface Props {
  offers: OfferedScope[];
  chosen: number;
  onChoose: (at: number) => void;
  onApprove: () => void;
}

/** How far an approval may reach, each with the literal rules it would save: those, and no others, are saved. */
export function RememberPanel({ offers, chosen, onChoose, onApprove }: Props) {
  const { ask, setPanel } = useCard();
  const isShell = lineOf(ask.request) !== null;
  const name = useId();
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <div className="grid gap-2">
      <fieldset>
        <legend className="font-semibold">Approve this one, and what follows</legend>
        <div className="max-h-[40dvh] overflow-y-auto">
          {offers.map((offer, at) => (
            <label
              key={`${offer.scope} ${ruleWords(offer)}`}
              className="flex min-h-9 items-start gap-2.5 border-b border-line py-2 max-wide:min-h-11"
            >
              <input
                ref={at === 0 ? first : undefined}
                type="radio"
                name={name}
                className="mt-0.5 size-4 shrink-0"
                checked={at === chosen}
                onChange={() => onChoose(at)}
              />
              <span className="min-w-0">
                <RuleLine>{ruleWords(offer)}</RuleLine>
                <span className="mt-0.5 block text-xs text-ink-2">
                  {LIFETIME[offer.scope]}
                  {offer.scope !== "session" && ", in all your sessions"}
                </span>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      <p className="text-xs text-ink-3">
        The next call that it covers is approved without you.
        {isShell && " In a line of several commands each is looked at alone."} Revoke it under Rules.
      </p>
      <div className="flex flex-wrap gap-2">
        <Decide onDecide={onApprove}>
          Approve and remember <Key>Ctrl Enter</Key>
        </Decide>
        <Button look="quiet" onClick={() => setPanel(null)}>
          Back <Key>Esc</Key>
        </Button>
      </div>
    </div>
  );
}
