import { type ReactNode, useRef, useState } from "react";
import { isRounded } from "../api/exact";
import type { CallMark, InteractionRequest, Scope } from "../api/generated";
import { isOpen } from "../session/ask";
import { Diff } from "../text/Diff";
import { readDiff } from "../text/diff";
import { Danger } from "../text/Lines";
import { mixedWords, spelledOut } from "../text/mixed";
import { Prose } from "../text/Prose";
import { Shown } from "../text/Shown";
import { folder as shortFolder } from "../text/time";
import { LONGEST_LINE } from "../text/visible";
import { Button } from "../ui/Button";
import { Ticked } from "../ui/Calm";
import { Kbd, Key } from "../ui/Kbd";
import { CardActions, CardBody, Warning } from "./CardBody";
import { useCard, useCardKeys, useDraft } from "./card";
import { Decide } from "./Decide";
import { EditPanel, editText, readEdit } from "./EditInput";
import { Fact, Facts, RuleLine } from "./Facts";
import { InputView } from "./InputView";
import { PlanView } from "./PlanView";
import { RefusalPanel, RefuseButton } from "./Refusal";
import { RememberPanel } from "./Remember";
import { useDesk } from "./transport";
import { NOT_SHOWN } from "./useSight";
import { Verdict } from "./Verdict";
import { author, does, fileOf, LIFETIME, lineOf, planOf, ruleWords } from "./words";

type Request = Extract<InteractionRequest, { kind: "approval" }>;

/** Why this page must not approve, if it must not: nobody approves what they were not shown. */
export function obstacle(input: unknown): string | null {
  if (input === undefined || input === null) return "The ask came without its input, so it cannot be approved.";
  if (isRounded(input)) {
    return "A number here is too large for this browser to show exactly. Approve it in a terminal: `holdstead answer`.";
  }
  return null;
}

/** May it run this? The input is shown as it is, whole. */
export function ApprovalCard({ request, before }: { request: Request; before: ReactNode }) {
  const { ask, answering, panel, setPanel, inert, sight, whole, setWhole } = useCard();
  const folder = useDesk().session(ask.sessionId)?.cwd;
  const { input, preview, capabilities, marks = [] } = request;
  const [draft, change] = useDraft(request.promptId, () => ({ reason: "", edited: editText(request) }));
  const approveButton = useRef<HTMLButtonElement>(null);
  const [armed, setArmed] = useState(false);
  const why = obstacle(input);
  const plan = planOf(request);
  const offers = capabilities.scopes ? request.offeredScopes.filter((offer) => offer.scope !== "once") : [];
  const canRemember = offers.length > 0 && why === null;
  const [offer, setOffer] = useState(0);
  const canEdit = capabilities.editInput && why === null;
  const edit = readEdit(request, draft.edited);
  const isMarked = marks.length > 0;

  const approve = (scope: Scope, editedInput?: unknown) =>
    answering.send({ action: "approve", scope, ...(editedInput !== undefined && { editedInput }) });
  const remember = (scope: Scope, lines: string[]) =>
    answering.send({ action: "approve", scope, ...(lines.length > 0 && { lines }) });
  const deny = (reason?: string, after?: "stop") =>
    answering.send({ action: "deny", ...(reason && { reason }) }, after);
  /** Whether all of the input was shown; where not, more of it is. */
  const sawAll = (): boolean => {
    if (sight.all) return true;
    sight.showNext();
    inert.rest();
    return false;
  };
  const arm = () => {
    if (why === null && !inert.isInert() && sawAll()) approveButton.current?.focus();
  };
  /** A panel in which this call is approved otherwise than as it stands. */
  const openPanel = (name: "edit" | "remember") => {
    if (sawAll()) setPanel(name);
  };
  useCardKeys({
    letters: {
      " ": () => (sight.all ? setWhole(!whole) : sight.showNext()),
      a: arm,
      d: () => (capabilities.reason ? setPanel("refuse") : undefined),
      ...(canEdit && { e: () => openPanel("edit") }),
      ...(canRemember && { r: () => openPanel("remember") }),
    },
    send: () => {
      if (panel === "refuse") deny(draft.reason.trim() || undefined);
      else if (panel === "edit" && edit.is === "changed") approve("once", edit.value);
      else if (panel === "remember") rememberOffer(offers, offer, remember);
      // What is marked takes two acts: one that shows what the other would do.
      else if (panel === null && why === null && sawAll() && !isMarked) approve("once");
    },
  });

  const isStruck = panel === "edit" && edit.is === "changed";
  const approveWords = plan !== null ? "Approve plan and start" : preview ? "Approve edit" : "Approve once";
  return (
    <>
      <CardBody request={request}>
        {request.toolName.length > LONGEST_LINE && <Prose text={request.toolName} />}
        {plan !== null && <PlanView plan={plan} />}
        {preview && (
          <section aria-label="The change">
            {request.origin !== "agent" && (
              <h3 className="mb-1 text-xs text-ink-2">
                The change, as {request.origin === "attached" ? "the agent" : author(request)} describes it
              </h3>
            )}
            <Diff lines={readDiff(preview)} whole={whole} onWhole={() => setWhole(true)} />
          </section>
        )}
        {input !== null && input !== undefined && (
          <div className={`empty:hidden ${isStruck ? "text-ink-2 line-through" : ""}`}>
            <AsItRuns request={request}>
              <InputView
                input={input}
                command={lineOf(request)}
                marked={marks.map((mark) => mark.text)}
                without={toldElsewhere(request)}
                whole={whole}
                onWhole={() => setWhole(true)}
              />
            </AsItRuns>
          </div>
        )}
        <span data-input-end="" className="-mb-4 block h-px" />
        {request.verdict && <Verdict verdict={request.verdict} sessionId={ask.sessionId} isOpen={isOpen(ask)} />}
        <Facts>
          {request.agentSays && (
            <Fact name={`${author(request)} says`}>
              “<Prose text={request.agentSays} />”
            </Fact>
          )}
          {request.decisionReason && (
            <Fact name="Asked because">
              <Prose text={request.decisionReason} />
            </Fact>
          )}
          {isMarked && (
            <Fact name="Marked because">
              <MarkWords marks={marks} />
            </Fact>
          )}
          {request.cwd && request.cwd !== folder && (
            <Fact name="Runs in">
              <code className="font-mono text-mono">
                <Shown text={shortFolder(request.cwd)} where="payload" />
              </code>
            </Fact>
          )}
          {isOpen(ask) && canRemember && offers[0] && (
            <Fact name="Remember saves">
              <RuleLine>{ruleWords(offers[0])}</RuleLine> {LIFETIME[offers[0].scope]}
              {offers.length > 1 && ", or longer"}
            </Fact>
          )}
          {isOpen(ask) && !canRemember && isMarked && (
            <Fact name="Remember">
              <span className="text-ink-2">Not offered: it is marked.</span>
            </Fact>
          )}
        </Facts>
        {mixedIn(request).map((word) => (
          <Warning key={word}>
            One word has letters of two alphabets, which may look alike:{" "}
            <code className="font-mono text-mono">{spelledOut(word)}</code>
          </Warning>
        ))}
        {why && (
          <Warning>
            <Ticked text={why} />
          </Warning>
        )}
        {before}
      </CardBody>
      <CardActions
        kept={[draft.reason.trim(), edit.is === "changed" ? draft.edited : ""].filter(Boolean).join("\n\n")}
        hint={panel === null && why === null && <Hint armed={armed} marks={marks} seen={sight.all} />}
      >
        {panel === "refuse" && (
          <RefusalPanel
            word="Deny"
            question="What should it do instead? The agent reads this word for word."
            reason={draft.reason}
            onReason={(reason) => change({ reason })}
            onRefuse={deny}
            canStop={request.origin === "agent"}
          />
        )}
        {panel === "edit" && (
          <EditPanel
            request={request}
            text={draft.edited}
            onText={(edited) => change({ edited })}
            onApprove={(value) => approve("once", value)}
          />
        )}
        {panel === "remember" && (
          <RememberPanel
            offers={offers}
            chosen={offer}
            onChoose={setOffer}
            onApprove={() => rememberOffer(offers, offer, remember)}
          />
        )}
        {panel === "sure" && <SurePanel marks={marks} onApprove={() => approve("once")} />}
        {panel === null && (
          <div className="flex flex-wrap items-center gap-2 max-wide:grid max-wide:grid-cols-2">
            <Decide
              ref={approveButton}
              className="max-wide:order-last max-wide:min-h-13"
              disabled={why !== null}
              onFocus={() => setArmed(true)}
              onBlur={() => setArmed(false)}
              onDecide={(event) => {
                if (!sawAll()) return;
                // By finger or mouse the second act is another button; by key it was the one that came here.
                if (isMarked && event.detail > 0) setPanel("sure");
                else approve("once");
              }}
            >
              {isMarked && <span className="wide:hidden">Approve…</span>}
              <span className={isMarked ? "max-wide:hidden" : ""}>{approveWords}</span> <Key>A</Key>
            </Decide>
            {canRemember && (
              <Button className={canEdit ? "" : "max-wide:col-span-2"} onClick={() => openPanel("remember")}>
                Remember… <Key>R</Key>
              </Button>
            )}
            {canEdit && (
              <Button className={canRemember ? "" : "max-wide:col-span-2"} onClick={() => openPanel("edit")}>
                {preview || plan !== null ? "Change it" : "Edit"} <Key>E</Key>
              </Button>
            )}
            <RefuseButton
              word={plan === null ? "Deny" : "Keep planning"}
              canSay={capabilities.reason}
              onRefuse={() => deny()}
            />
          </div>
        )}
      </CardActions>
    </>
  );
}

/** Words of the command and of paths in which letters of one alphabet may pass for those of another. */
function mixedIn({ input, cwd, toolName }: Request): string[] {
  const { command, url } = (input ?? {}) as Record<string, unknown>;
  const told = [toolName, command, fileOf(input), url, cwd].filter((text) => typeof text === "string");
  return [...new Set(told.flatMap(mixedWords))].slice(0, MOST_MIXED);
}

/** Further ones make nobody more careful. */
const MOST_MIXED = 5;

/** Parts of the input that stand on the card by themselves: the plan, and words that the agent says about its call. */
function toldElsewhere(request: Request): string[] {
  const { description } = (request.input ?? {}) as Record<string, unknown>;
  const isSaid = typeof description === "string" && description === request.agentSays;
  const isMarked = (request.marks ?? []).some((mark) => isSaid && description.includes(mark.text));
  return [...(planOf(request) === null ? [] : ["plan"]), ...(isSaid && !isMarked ? ["description"] : [])];
}

/** The fields of an edit that a diff shows. */
const IN_DIFF = ["file_path", "old_string", "new_string", "content", "edits"];

/** Beside a diff that our drivers made of it, an edit says nothing new; what a program sends as a diff may be anything. */
function AsItRuns({ request, children }: { request: Request; children: ReactNode }) {
  const words = "The input, as it would run";
  if (!request.preview) return children;
  const isWholeInDiff = Object.keys(request.input ?? {}).every((key) => IN_DIFF.includes(key));
  if (request.origin !== "agent" || (request.marks?.length ?? 0) > 0 || !isWholeInDiff)
    return (
      <>
        <h3 className="mb-1 text-xs text-ink-3">{words}</h3>
        {children}
      </>
    );
  return (
    <details>
      <summary className="w-fit cursor-pointer text-xs text-ink-3 max-wide:min-h-11">{words}</summary>
      {children}
    </details>
  );
}

function rememberOffer(offers: Request["offeredScopes"], at: number, save: (scope: Scope, lines: string[]) => void) {
  const offer = offers[at];
  if (offer) save(offer.scope, offer.rule === "lines" ? offer.lines : []);
}

/** What keys would do. On the button it says what Enter does. */
function Hint({ armed, marks, seen }: { armed: boolean; marks: CallMark[]; seen: boolean }) {
  if (!seen) return NOT_SHOWN;
  if (armed) {
    return (
      <span className={`max-wide:hidden ${marks.length > 0 ? "font-medium text-denied" : ""}`}>
        <Kbd>Enter</Kbd> approves
        {marks.length > 0 && `: it ${[...new Set(marks.map((one) => does(one.risk)))].join(", ")}`}
      </span>
    );
  }
  if (marks.length > 0) {
    return (
      <span className="max-wide:hidden">
        Marked: <Kbd>A</Kbd>, then <Kbd>Enter</Kbd>
      </span>
    );
  }
  return (
    <span className="max-wide:hidden">
      <Kbd>Ctrl</Kbd> <Kbd>Enter</Kbd> approves and goes on
    </span>
  );
}

/** What is risky in a call: why, and the very words. */
function MarkWords({ marks }: { marks: CallMark[] }) {
  return marks.map((mark, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: marks of one ask never change
    <span key={at}>
      {at > 0 && "; "}
      it <strong className="font-semibold text-denied">{does(mark.risk)}</strong>:{" "}
      <code className="font-mono text-mono">
        <Shown text={mark.text} where="payload" />
      </code>
    </span>
  ));
}

/** The second act for what is marked. Back lies where the finger was. */
function SurePanel({ marks, onApprove }: { marks: CallMark[]; onApprove: () => void }) {
  const { setPanel } = useCard();
  return (
    <div className="grid gap-3">
      <h3 className="font-semibold">Look twice: it {[...new Set(marks.map((one) => does(one.risk)))].join(", ")}</h3>
      <ul className="grid max-h-40 gap-1 overflow-y-auto">
        {marks.map((mark, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: marks of one ask never change
          <li key={at} className="font-mono text-mono wrap-anywhere">
            <Danger>
              <Shown text={mark.text} where="payload" />
            </Danger>
          </li>
        ))}
      </ul>
      <div className="flex flex-row-reverse justify-end gap-2 max-wide:grid max-wide:justify-stretch">
        <Decide className="max-wide:min-h-13" onDecide={onApprove}>
          Approve all the same
        </Decide>
        <Button className="max-wide:min-h-13" onClick={() => setPanel(null)}>
          Back <Key>Esc</Key>
        </Button>
      </div>
    </div>
  );
}
