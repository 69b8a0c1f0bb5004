import { useLayoutEffect, useRef, useState } from "react";
import { undrawn } from "../text/drawn";
import { Markdown } from "../text/Markdown";
import { Whole } from "../text/Payload";
import { Button } from "../ui/Button";
import { count } from "./words";

/** Longer than this is not read as a document, and is shown as it was written. */
const LONGEST_DRAWN = 100_000;

/** The agent's plan, drawn, and whole as it was written: what is approved is the text. */
export function PlanView({ plan }: { plan: string }) {
  const drawing = useRef<HTMLDivElement>(null);
  const [missing, setMissing] = useState(0);
  const [isOpen, setOpen] = useState<boolean | null>(null);
  const isDrawn = plan.length <= LONGEST_DRAWN;
  useLayoutEffect(() => {
    setMissing(isDrawn ? undrawn(plan, drawing.current?.textContent ?? "") : 0);
  }, [plan, isDrawn]);
  if (!isDrawn) return <AsWritten text={plan} />;
  // Somebody who hides a line counts on nobody pressing the button.
  const shows = isOpen ?? missing > 0;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <div ref={drawing} className="border-l border-line pl-3">
        <Markdown text={plan} />
      </div>
      <p className="flex flex-wrap items-center gap-2 text-xs text-ink-2">
        <span className={missing > 0 ? "tag tone-pending bg-tone-bg px-2 py-0.5 font-medium text-tone" : ""}>
          {count(plan.split("\n").length, "line")}, {missing === 0 ? "all drawn" : `${missing} not drawn`}
        </span>
        <Button look="quiet" size="small" aria-expanded={shows} onClick={() => setOpen(!shows)}>
          {shows ? "Hide the text as written" : "Show the text as written"}
        </Button>
      </p>
      {shows && <AsWritten text={plan} />}
    </div>
  );
}

function AsWritten({ text }: { text: string }) {
  return (
    <div className="isolate bg-block px-3 py-2 text-mono [direction:ltr] [unicode-bidi:isolate]">
      <Whole text={text} />
    </div>
  );
}
