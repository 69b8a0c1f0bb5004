import { useEffect, useRef } from "react";
import type { OfferedScope, Scope } from "../api/generated";
import { Button } from "../ui/Button";
import { useCard } from "./card";
import { Decide } from "./Decide";
import { LIFETIME, ruleWords, SCOPE } from "./words";

/** How far an approval may reach, each with the literal rule it would save. */
export function RememberPanel({ offers, onApprove }: { offers: OfferedScope[]; onApprove: (scope: Scope) => void }) {
  const { setPanel } = useCard();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);
  return (
    <div ref={box} tabIndex={-1} className="grid gap-3 outline-none">
      {offers.map((offer) => (
        <div key={offer.scope} className="grid justify-items-start gap-2">
          <p>
            Saves this rule: <strong className="font-semibold">{ruleWords(offer)}</strong>, {LIFETIME[offer.scope]}. The
            next such ask is approved without you.
          </p>
          <Decide onDecide={() => onApprove(offer.scope)}>Approve and remember {SCOPE[offer.scope]}</Decide>
        </div>
      ))}
      <div>
        <Button look="quiet" onClick={() => setPanel(null)}>
          Back
        </Button>
      </div>
    </div>
  );
}
