import { type ChangeEvent, useId, useRef } from "react";
import type { Interaction, InteractionRequest, Question } from "../api/generated";
import { Payload } from "../text/Payload";
import { Prose } from "../text/Prose";
import { Shown } from "../text/Shown";
import { brief, LONGEST_LINE } from "../text/visible";
import { Button } from "../ui/Button";
import { INPUT } from "../ui/inputs";
import { answerOf, assemble, type Choice, noChoice, pick, startChoice } from "./answers";
import { CardActions, CardBody } from "./CardBody";
import { useCard, useCardKeys, useDraft } from "./card";
import { Decide } from "./Decide";
import { RefusalPanel, RefuseButton } from "./Refusal";
import { useDesk } from "./transport";
import { count, sendLate } from "./words";

type Request = Extract<InteractionRequest, { kind: "question" }>;

interface Draft {
  choices: Record<string, Choice>;
  reason: string;
}

/** Which of these? Nothing is chosen beforehand, and there is always room for another answer. */
export function QuestionCard({ request }: { request: Request }) {
  const { ask, answering, answerable, late, panel, setPanel } = useCard();
  const { sendOnPick } = useDesk();
  const { questions } = request;
  const [draft, change] = useDraft<Draft>(
    request.promptId,
    () => ({
      choices: Object.fromEntries(questions.map((one) => [one.id, startChoice(one, request.initialValues?.[one.id])])),
      reason: "",
    }),
    ({ choices, reason }) => ({
      reason,
      choices: Object.fromEntries(questions.map((one) => [one.id, one.secret ? noChoice : choices[one.id]])),
    }),
  );
  const blocks = useRef<Record<string, HTMLFieldSetElement | null>>({});
  const last = useRef(-1);
  const { answers, done, complete } = assemble(questions, draft.choices);
  const errors = { ...(request.fieldErrors as Record<string, string> | undefined), ...answering.fieldErrors };

  const send = (given = answers) => answering.send({ action: "submit", answers: given });
  const refuse = (reason?: string) => answering.send({ action: "cancel", ...(reason && { reason }) });
  const set = (id: string, choice: Choice) => change({ choices: { ...draft.choices, [id]: choice } });
  const isOne = questions.length === 1;
  const choose = (question: Question, label: string) => {
    const choice = pick(question, draft.choices[question.id] ?? noChoice, label);
    set(question.id, choice);
    if (sendOnPick && isOne && !question.multiSelect) send({ [question.id]: label });
  };

  /** A digit picks in the question that has the focus, or else in the first without an answer. */
  const digit = (number: number) => {
    const inside = questions.findIndex((one) => blocks.current[one.id]?.contains(document.activeElement));
    const open = questions.findIndex((one) => answerOf(one, draft.choices[one.id] ?? noChoice) === null);
    const stays = questions[last.current]?.multiSelect || open < 0;
    const at = inside >= 0 ? inside : stays && last.current >= 0 ? last.current : Math.max(open, 0);
    last.current = at;
    const question = questions[at];
    const option = question?.options?.[number - 1];
    if (question && option) choose(question, option.label);
  };
  const canSay = request.capabilities.reason;
  const openRefusal = () => (canSay ? setPanel("refuse") : undefined);
  useCardKeys({
    digit,
    letters: late ? {} : { d: openRefusal },
    send: () => (panel === "refuse" ? refuse(draft.reason.trim() || undefined) : complete && send()),
  });

  const goTo = (id: string) => {
    const block = blocks.current[id];
    block?.scrollIntoView({ block: "nearest" });
    block?.querySelector<HTMLElement>("input")?.focus();
  };
  return (
    <>
      <CardBody request={request}>
        {!isOne && (
          <div className="flex flex-wrap gap-2">
            {questions.map((one) => (
              <Button
                key={one.id}
                size="small"
                look="quiet"
                className="border-line bg-sunken"
                onClick={() => goTo(one.id)}
              >
                <span>
                  <Shown text={one.header} />
                  {answerOf(one, draft.choices[one.id] ?? noChoice) !== null && (
                    <>
                      <span aria-hidden="true"> ✓</span>
                      <span className="sr-only"> answered</span>
                    </>
                  )}
                </span>
              </Button>
            ))}
          </div>
        )}
        {questions.map((one, at) => (
          <Block
            key={one.id}
            ref={(node) => {
              blocks.current[one.id] = node;
            }}
            question={one}
            number={isOne ? null : at + 1}
            choice={given(one, ask) ?? draft.choices[one.id] ?? noChoice}
            disabled={!answerable || answering.phase.at === "sending"}
            error={errors[one.id] ?? null}
            onPick={(label) => choose(one, label)}
            onChange={(choice) => set(one.id, choice)}
          />
        ))}
      </CardBody>
      <CardActions kept={keptText(questions, draft)}>
        {panel === "refuse" ? (
          <RefusalPanel
            word="Decline"
            question="Why not? The agent reads this word for word."
            reason={draft.reason}
            onReason={(reason) => change({ reason })}
            onRefuse={refuse}
          />
        ) : (
          <div className="flex flex-wrap items-center gap-2 max-wide:justify-between">
            <Decide disabled={!complete} onDecide={send}>
              {late ? sendLate(request) : isOne ? "Send answer" : `Send ${count(questions.length, "answer")}`}
            </Decide>
            <span role="status" className="text-xs text-ink-2">
              {!complete && !isOne && `${done} of ${questions.length} answered`}
            </span>
            {!late && <RefuseButton word="Decline" canSay={canSay} onRefuse={() => refuse()} />}
          </div>
        )}
      </CardActions>
    </>
  );
}

/** The answer that was taken, whoever gave it. */
function given(question: Question, { response }: Interaction): Choice | null {
  const answers = response?.action === "submit" ? response.answers : null;
  const answer = answers?.find((one) => one.questionId === question.id);
  if (!answer || question.secret) return null;
  return { picked: answer.labels ?? [], otherOn: Boolean(answer.other), other: answer.other ?? "" };
}

/** Free text that was typed: it is not lost with the ask. */
function keptText(questions: Question[], draft: Draft): string {
  const typed = questions
    .filter((one) => !one.secret)
    .map((one) => draft.choices[one.id]?.other.trim())
    .filter(Boolean);
  return [...typed, draft.reason.trim()].filter(Boolean).join("\n\n");
}

interface BlockProps {
  question: Question;
  number: number | null;
  choice: Choice;
  disabled: boolean;
  error: string | null;
  onPick: (label: string) => void;
  onChange: (choice: Choice) => void;
  ref: (node: HTMLFieldSetElement | null) => void;
}

function Block({ question, number, choice, disabled, error, onPick, onChange, ref }: BlockProps) {
  const name = useId();
  const box = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  const options = question.options ?? [];
  const type = question.multiSelect ? "checkbox" : "radio";
  const allowsOther = question.allowOther !== false || options.length === 0;
  const typed = (other: string) =>
    onChange({ ...choice, other, otherOn: other !== "" || (choice.otherOn && !question.multiSelect) });
  const own = {
    "aria-label": options.length > 0 ? `Another answer to: ${brief(question.question)}` : brief(question.question),
    "aria-invalid": error !== null || undefined,
    value: choice.other,
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => typed(event.target.value),
    className: INPUT,
  };
  const row = "tag -mx-2 flex min-h-9 gap-2 px-2 py-2 max-wide:min-h-11";
  return (
    <fieldset ref={ref} disabled={disabled} className="min-w-0 not-first:border-t not-first:border-line not-first:pt-3">
      <legend
        className={
          number === null && question.question.length <= LONGEST_LINE
            ? "sr-only"
            : "float-left mb-1 flex w-full gap-2 font-medium wrap-anywhere"
        }
      >
        {number !== null && <span className="font-mono text-mono text-ink-2">{number}</span>}
        <span className="min-w-0">
          <Prose text={question.question} />
        </span>
      </legend>
      {number === null && question.header && (
        <p className="tag clear-both mb-1 w-fit bg-sunken px-2 py-0.5 text-xs text-ink-2">
          <Shown text={question.header} />
        </p>
      )}
      {question.multiSelect && <p className="clear-both text-xs text-ink-2">Choose one or more.</p>}
      {options.map((option, at) => {
        const isOn = choice.picked.includes(option.label) && !(choice.otherOn && !question.multiSelect);
        return (
          <label
            key={option.label}
            className={`${row} clear-both cursor-pointer items-start hover:bg-sunken has-checked:bg-sunken`}
          >
            <input
              type={type}
              name={name}
              checked={isOn}
              onChange={() => onPick(option.label)}
              className="mt-0.5 size-4 shrink-0"
            />
            <span aria-hidden="true" className="font-mono text-mono text-ink-2">
              {at + 1}
            </span>
            <span className="min-w-0 flex-1 wrap-anywhere">
              <span className={isOn ? "font-medium" : ""}>
                <Prose text={option.label} />
              </span>
              {option.description && (
                <span className="block text-xs text-ink-2">
                  <Prose text={option.description} />
                </span>
              )}
              {option.preview && <Payload text={option.preview} className="mt-1 bg-canvas" />}
            </span>
          </label>
        );
      })}
      {allowsOther && (
        <div className={`${row} clear-both items-center`}>
          {options.length > 0 && (
            <label className="flex items-center gap-2">
              <input
                type={type}
                name={name}
                checked={choice.otherOn}
                onChange={(event) => {
                  onChange({ ...choice, otherOn: event.target.checked });
                  if (event.target.checked) box.current?.focus();
                }}
                className="size-4 shrink-0"
              />
              Other
            </label>
          )}
          {question.multiline && !question.secret ? (
            <textarea ref={box} rows={4} {...own} />
          ) : (
            <input
              ref={box}
              type={question.secret ? "password" : "text"}
              autoComplete={question.secret ? "new-password" : "off"}
              {...own}
            />
          )}
        </div>
      )}
      {error && <p className="clear-both text-xs text-denied">This answer {error}. Your text is kept.</p>}
    </fieldset>
  );
}
