import { useRef, useState } from "react";
import type { InteractionRequest } from "../api/generated";
import { Prose } from "../text/Prose";
import { LONGEST_LINE } from "../text/visible";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Key } from "../ui/Kbd";
import { type FieldValue, formInput, missingFields, startValue } from "./answers";
import { CardActions, CardBody, Says } from "./CardBody";
import { useCard, useCardKeys, useDraft } from "./card";
import { Decide } from "./Decide";
import { FieldRow } from "./FieldRow";
import { RefusalPanel, RefuseButton } from "./Refusal";
import { headline, sendLate } from "./words";

type Request = Extract<InteractionRequest, { kind: "form" }>;

interface Draft {
  values: Record<string, FieldValue>;
  reason: string;
}

/** Fill this in. What is wrong stands beside its field, and what was typed is kept. */
export function FormCard({ request }: { request: Request }) {
  const { ask, answering, answerable, late, panel, setPanel } = useCard();
  const { fields } = request.form;
  const start = () =>
    Object.fromEntries(fields.map((field) => [field.id, startValue(field, request.initialValues?.[field.id])]));
  const [draft, change] = useDraft<Draft>(
    request.promptId,
    () => ({ values: start(), reason: "" }),
    ({ values, reason }) => ({
      reason,
      values: Object.fromEntries(fields.map((field) => [field.id, field.type === "secret" ? "" : values[field.id]])),
    }),
  );
  const [missing, setMissing] = useState<string[]>([]);
  /** Fields that were touched since they were last refused. */
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [isLarge, setLarge] = useState(false);
  const box = useRef<HTMLDivElement>(null);

  const told = { ...(request.fieldErrors as Record<string, string> | undefined), ...answering.fieldErrors };
  const errorOf = (id: string): string | null => {
    if (missing.includes(id)) return "Required";
    const words = told[id];
    if (!words || touched.has(id)) return null;
    return `${words[0]?.toUpperCase()}${words.slice(1)}. Your text is kept.`;
  };
  const set = (id: string, value: FieldValue) => {
    change({ values: { ...draft.values, [id]: value } });
    setMissing(missing.filter((one) => one !== id));
    setTouched(new Set(touched).add(id));
  };
  const send = () => {
    const blank = missingFields(fields, draft.values);
    setMissing(blank);
    setTouched(new Set());
    const [first] = blank;
    if (first !== undefined) {
      const row = [...(box.current?.children ?? [])].find(
        (one) => one instanceof HTMLElement && one.dataset.field === first,
      );
      row?.querySelector<HTMLElement>("input, select, textarea")?.focus();
      return;
    }
    setLarge(false);
    answering.send({ action: "submit", input: formInput(fields, draft.values) });
  };
  const refuse = (reason?: string) => answering.send({ action: "cancel", ...(reason && { reason }) });
  const canSay = request.capabilities.reason;
  useCardKeys({
    letters: late ? {} : { d: () => (canSay ? setPanel("refuse") : undefined) },
    send: () => (panel === "refuse" ? refuse(draft.reason.trim() || undefined) : send()),
  });

  // Once one was taken, what was sent: whoever sent it.
  const taken = !answerable && ask.response?.action === "submit" ? ask.response.input : null;
  const values = taken
    ? Object.fromEntries(
        fields.map((field) => [field.id, startValue({ ...field, default: undefined }, taken[field.id])]),
      )
    : draft.values;
  const rows = (large: boolean) => (
    <div ref={box} className="grid max-w-[760px] grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-4 @min-[560px]:grid-cols-2">
      {fields.map((field) => (
        <FieldRow
          key={field.id}
          field={field}
          value={values[field.id] ?? startValue(field, null)}
          error={errorOf(field.id)}
          disabled={!answerable || answering.phase.at === "sending"}
          large={large}
          onChange={(value) => set(field.id, value)}
        />
      ))}
    </div>
  );
  const typed = fields
    .filter((field) => field.type === "text" || field.type === "textarea")
    .map((field) => draft.values[field.id])
    .filter((value) => typeof value === "string" && value.trim() !== "");
  const isLong = (request.form.title?.length ?? 0) > LONGEST_LINE;
  const sendWords = late ? sendLate(request) : "Send";
  return (
    <>
      <CardBody request={request}>
        {isLong && <Prose text={request.form.title ?? ""} />}
        {isLarge ? <p className="text-ink-2">Open in the large view.</p> : rows(false)}
        <Says request={request} />
      </CardBody>
      <CardActions kept={[...typed, draft.reason.trim()].filter(Boolean).join("\n\n")}>
        {panel === "refuse" ? (
          <RefusalPanel
            word="Decline"
            question="Why not? The agent reads this word for word."
            reason={draft.reason}
            onReason={(reason) => change({ reason })}
            onRefuse={refuse}
          />
        ) : (
          <div className="flex flex-wrap items-center gap-2 max-wide:grid max-wide:grid-cols-2">
            <Decide onDecide={send} className="max-wide:order-last max-wide:min-h-13">
              {sendWords} <Key>Ctrl Enter</Key>
            </Decide>
            <Button className="max-wide:hidden" onClick={() => setLarge(true)}>
              Open large
            </Button>
            {!late && <RefuseButton word="Decline" canSay={canSay} onRefuse={() => refuse()} />}
          </div>
        )}
      </CardActions>
      <Dialog title={headline(request)} open={isLarge} onClose={() => setLarge(false)} wide>
        {isLarge && rows(true)}
        <div className="mt-4 flex gap-2">
          <Decide onDecide={send}>{sendWords}</Decide>
          <Button look="quiet" onClick={() => setLarge(false)}>
            Back
          </Button>
        </div>
      </Dialog>
    </>
  );
}
