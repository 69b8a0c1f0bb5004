import type { Effect } from "../api/generated";
import { EFFECT } from "../interactions/words";

const LOOK: Record<Effect, { text: string; box: string }> = {
  allow: { text: "text-approved", box: "bg-current" },
  ask: { text: "text-pending", box: "" },
  deny: { text: "text-denied", box: "rotate-45" },
};

/** What a rule does, told by word, colour and shape. */
export function EffectMark({ effect }: { effect: Effect }) {
  const { text, box } = LOOK[effect];
  return (
    <span className={`inline-flex items-baseline gap-1.5 font-semibold whitespace-nowrap ${text}`}>
      <span aria-hidden="true" className={`size-2 self-center border-[1.5px] border-current ${box}`} />
      {EFFECT[effect]}
    </span>
  );
}
