import { useEffect, useRef } from "react";
import type { OfferedScope, Scope } from "../api/generated";
import { Button } from "../ui/Button";
import { useCard } from "./card";
import { Decide } from "./Decide";
import { LIFETIME, linesOf, ruleWords, SCOPE } from "./words";

/** How far an approval may reach, each with the literal rules it would save: those, and no others, are saved. */
export function RememberPanel({
  offers,
  onApprove,
}: {
  offers: OfferedScope[];
  onApprove: (scope: Scope, lines: string[]) => void;
}) {
  const { setPanel } = useCard();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);
  const rules = new Map<string, OfferedScope[]>();
  for (const offer of offers) {
    const key = ruleWords(offer);
    rules.set(key, [...(rules.get(key) ?? []), offer]);
  }
  return (
    <div ref={box} tabIndex={-1} className="grid gap-3 outline-none">
      {[...rules].map(([words, offers]) => (
        <section key={words} aria-label={words} className="grid justify-items-start gap-2">
          <p>Saves this rule. The next call it covers is approved without you:</p>
          <p className="font-mono text-mono font-semibold wrap-anywhere whitespace-pre-line">{words}</p>
          <div className="flex flex-wrap gap-2">
            {offers.map((offer) => (
              <Decide
                key={offer.scope}
                title={`${LIFETIME[offer.scope]}: ${words}`}
                onDecide={() => onApprove(offer.scope, linesOf(offer))}
              >
                Approve and remember {SCOPE[offer.scope]}
              </Decide>
            ))}
          </div>
        </section>
      ))}
      <p className="text-xs text-ink-2">
        “For an hour” and “always” count in all your sessions. See and revoke rules under Rules.
      </p>
      <div>
        <Button look="quiet" onClick={() => setPanel(null)}>
          Back
        </Button>
      </div>
    </div>
  );
}
