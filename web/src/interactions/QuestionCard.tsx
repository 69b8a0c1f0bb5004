import { type ChangeEvent, useId, useRef } from "react";
import type { Interaction, InteractionRequest, Question } from "../api/generated";
import { Payload } from "../text/Payload";
import { Prose } from "../text/Prose";
import { Shown } from "../text/Shown";
import { brief, LONGEST_LINE } from "../text/visible";
import { INPUT } from "../ui/inputs";
import { Kbd, Key } from "../ui/Kbd";
import { answerOf, assemble, type Choice, noChoice, pick, startChoice } from "./answers";
import { CardActions, CardBody, Says } from "./CardBody";
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

  return (
    <>
      <CardBody request={request}>
        {questions.map((one) => (
          <Block
            key={one.id}
            ref={(node) => {
              blocks.current[one.id] = node;
            }}
            question={one}
            alone={isOne}
            isDone={answerOf(one, draft.choices[one.id] ?? noChoice) !== null}
            choice={given(one, ask) ?? draft.choices[one.id] ?? noChoice}
            disabled={!answerable || answering.phase.at === "sending"}
            error={errors[one.id] ?? null}
            onPick={(label) => choose(one, label)}
            onChange={(choice) => set(one.id, choice)}
          />
        ))}
        <Says request={request} />
      </CardBody>
      <CardActions
        kept={keptText(questions, draft)}
        hint={
          panel === null && (
            <span className="max-wide:hidden">
              digits choose, <Kbd>Tab</Kbd> next question
            </span>
          )
        }
      >
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
            <Decide disabled={!complete} onDecide={() => send()} className="max-wide:order-last max-wide:min-h-13">
              {late ? sendLate(request) : isOne ? "Send answer" : `Send ${count(questions.length, "answer")}`}{" "}
              <Key>Ctrl Enter</Key>
            </Decide>
            <span role="status" className="text-xs text-ink-2 empty:hidden max-wide:col-span-2">
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
  /** It is the only one, and stands in the headline. */
  alone: boolean;
  isDone: boolean;
  choice: Choice;
  disabled: boolean;
  error: string | null;
  onPick: (label: string) => void;
  onChange: (choice: Choice) => void;
  ref: (node: HTMLFieldSetElement | null) => void;
}

function Block({ question, alone, isDone, choice, disabled, error, onPick, onChange, ref }: BlockProps) {
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
  const row = "tag grid min-h-[30px] gap-x-2.5 px-2 py-[5px] max-wide:min-h-11 max-wide:content-center";
  const isInHeadline = alone && question.question.length <= LONGEST_LINE;
  return (
    <fieldset
      ref={ref}
      disabled={disabled}
      className={`grid min-w-0 grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-1 border-b border-line pb-3 first:border-t first:pt-3 ${alone ? "" : "@min-[640px]:grid-cols-[minmax(0,228px)_minmax(0,1fr)]"}`}
    >
      <legend className={isInHeadline ? "sr-only" : "float-left font-semibold wrap-anywhere"}>
        <Prose text={question.question} />
        {!alone && (
          <span className={`block text-xs font-normal ${isDone ? "text-approved" : "text-pending"}`}>
            <Shown text={question.header} />
            {`: ${isDone ? "answered" : question.multiSelect ? "choose one or more" : "choose one"}`}
          </span>
        )}
      </legend>
      <div className="min-w-0">
        {alone && question.header && (
          <p className="pb-1 text-xs text-ink-3">
            <Shown text={question.header} />
            {question.multiSelect && ": choose one or more"}
          </p>
        )}
        {options.map((option, at) => {
          const isOn = choice.picked.includes(option.label) && !(choice.otherOn && !question.multiSelect);
          return (
            <label
              key={option.label}
              className={`${row} grid-cols-[18px_16px_minmax(96px,auto)_minmax(0,1fr)] cursor-pointer items-baseline hover:bg-block has-checked:bg-block max-wide:grid-cols-[16px_minmax(0,1fr)]`}
            >
              <span aria-hidden="true" className="font-mono text-xs text-ink-3 max-wide:hidden">
                {at < 9 && at + 1}
              </span>
              <input
                type={type}
                name={name}
                checked={isOn}
                onChange={() => onPick(option.label)}
                className="mt-0.5 size-4 self-start"
              />
              <span className={`min-w-0 wrap-anywhere ${isOn ? "font-medium" : ""}`}>
                <Prose text={option.label} />
              </span>
              <span className="min-w-0 text-xs wrap-anywhere text-ink-2 max-wide:col-start-2">
                {option.description && <Prose text={option.description} />}
              </span>
              {option.preview && (
                <span className="col-span-full min-w-0 wide:col-start-3">
                  <Payload text={option.preview} className="mt-1" />
                </span>
              )}
            </label>
          );
        })}
        {allowsOther && (
          <div
            className={`${row} grid-cols-[18px_auto_minmax(0,1fr)] items-center max-wide:grid-cols-[auto_minmax(0,1fr)]`}
          >
            <span aria-hidden="true" className="max-wide:hidden" />
            {options.length > 0 ? (
              <label className="flex items-center gap-2.5">
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
            ) : (
              <span />
            )}
            {question.multiline && !question.secret ? (
              <textarea ref={box} rows={4} {...own} />
            ) : (
              <input
                ref={box}
                type={question.secret ? "password" : "text"}
                autoComplete={question.secret ? "new-password" : "off"}
                placeholder="in your words"
                {...own}
              />
            )}
          </div>
        )}
      </div>
      {error && <p className="text-xs text-denied @min-[640px]:col-start-2">This answer {error}. Your text is kept.</p>}
    </fieldset>
  );
}
