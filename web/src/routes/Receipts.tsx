import { useEffect } from "react";
import { delivery, headline, lineOf } from "../interactions/words";
import { useInbox } from "../session/live";
import { clock } from "../text/time";
import { Icon } from "../ui/Icon";

/** What this person answered last. */
export interface Given {
  ids: string[];
  at: number;
}

const SHOWN_MS = 6_000;

interface Props {
  given: Given;
  onGone: () => void;
  at: keyof typeof PLACE;
}

/** It covers the foot of a list, the head of a card that has the whole screen, or old words: never a payload or answers. */
const PLACE = {
  list: "inset-x-3 bottom-12",
  top: "inset-x-2 top-1 wide:right-auto wide:w-96",
  dock: "inset-x-0 bottom-2 wide:left-auto wide:w-96",
} as const;

/** What became of the last answer: a line that blocks nothing and takes nothing back. */
export function Receipts({ given, onGone, at }: Props) {
  const { asks } = useInbox();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each answer
  useEffect(() => {
    const timer = setTimeout(onGone, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [given.at]);
  const told = given.ids.flatMap((id) => asks.get(id) ?? []);
  const [first] = told;
  if (!first) return null;
  const isNo = first.state === "settled" && (first.settlement === "denied" || first.settlement === "declined");
  const word =
    first.state !== "settled" ? "Sent" : isNo ? "Denied" : first.request.kind === "approval" ? "Approved" : "Answered";
  const reached = told.filter((ask) => ask.delivery?.delivery === "acknowledged").length;
  const far =
    told.length === 1
      ? (delivery(first) ?? "sent")
      : reached === told.length
        ? "agent has them"
        : `agent has ${reached} of ${told.length}`;
  return (
    <div
      role="status"
      data-receipts={told.length}
      className={`enter pointer-events-none absolute z-10 grid grid-cols-[16px_minmax(0,1fr)_auto] gap-x-2.5 border-l-3 bg-ink px-2.5 py-2 text-on-ink tag ${PLACE[at]} ${isNo ? "border-denied-rail" : "border-approved-rail"}`}
    >
      <Icon name={isNo ? "x" : "tick"} className="mt-0.5 size-4" />
      <b className="min-w-0 truncate font-medium">
        {word}
        {told.length > 1 && ` ${told.length}`}, {far}
      </b>
      <time className="text-xs leading-5">{clock(new Date(given.at).toISOString())}</time>
      {told.map((ask) => (
        <span
          key={ask.request.interactionId}
          data-receipt={ask.request.interactionId}
          className={`col-span-2 col-start-2 truncate text-xs ${lineOf(ask.request) === null ? "" : "font-mono"}`}
        >
          {headline(ask.request, "row")}
          {told.length > 1 && `, ${delivery(ask) ?? "sent"}`}
        </span>
      ))}
    </div>
  );
}
