import { useEffect, useRef } from "react";
import { AlikeCard } from "../interactions/AlikeCard";
import { AnswerProvider } from "../interactions/transport";
import { INERT_MS } from "../interactions/useInert";
import { fakeDesk, nowhere, OnDesk } from "../test/desk";
import { CARDS, type Shown } from "./cards";

/** Every card in every state. */
export function Gallery() {
  return (
    <main className="h-dvh overflow-y-auto p-6 max-wide:p-2">
      <h1 className="mb-6 text-lg font-semibold">Every card, in every state</h1>
      <div className="mx-auto grid max-w-[720px] grid-cols-[minmax(0,1fr)] gap-10">
        {CARDS.map((card) => (
          <Entry key={card.name} card={card} />
        ))}
      </div>
    </main>
  );
}

function Entry({ card }: { card: Shown }) {
  const box = useRef<HTMLDivElement>(null);
  const fake = useRef(fakeDesk({ mode: card.mode ?? "on" }, card.respond));
  useEffect(() => {
    let gone = false;
    const run = async () => {
      for (const name of card.press ?? []) {
        do await new Promise((done) => setTimeout(done, INERT_MS));
        while (!gone && box.current?.querySelector("[data-inert]"));
        if (gone) return;
        const targets = [...(box.current?.querySelectorAll<HTMLElement>("button, label") ?? [])];
        targets.find((one) => one.textContent?.includes(name))?.click();
      }
    };
    void run();
    return () => {
      gone = true;
    };
  }, [card]);
  const id = card.name.replaceAll(" ", "-");
  return (
    <section aria-labelledby={id}>
      <h2 id={id} className="mb-2 text-xs text-ink-2">
        {card.name}
      </h2>
      <div ref={box} data-shot={id} className="bg-canvas">
        {card.alike ? (
          <AnswerProvider value={fake.current.desk}>
            <div className="h-[560px] border border-line">
              <AlikeCard asks={card.alike} place={nowhere} onAnswered={() => {}} onApart={() => {}} />
            </div>
          </AnswerProvider>
        ) : (
          <OnDesk fake={fake.current} ask={card.ask} place={nowhere} />
        )}
      </div>
    </section>
  );
}
