import { useRef } from "react";
import { isRounded } from "../api/exact";
import type { InteractionRequest, Scope } from "../api/generated";
import { Diff } from "../text/Diff";
import { readDiff } from "../text/diff";
import { Prose } from "../text/Prose";
import { Shown } from "../text/Shown";
import { LONGEST_LINE } from "../text/visible";
import { Button } from "../ui/Button";
import { Ticked } from "../ui/Calm";
import { CardActions, CardBody, Warning } from "./CardBody";
import { useCard, useCardKeys, useDraft } from "./card";
import { Decide } from "./Decide";
import { EditPanel, editText, readEdit } from "./EditInput";
import { InputView } from "./InputView";
import { Marks } from "./Marks";
import { PlanView } from "./PlanView";
import { RefusalPanel, RefuseButton } from "./Refusal";
import { RememberPanel } from "./Remember";
import { useDesk } from "./transport";
import { Verdict } from "./Verdict";
import { planOf } from "./words";

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
export function ApprovalCard({ request }: { request: Request }) {
  const { ask, answering, panel, setPanel } = useCard();
  const folder = useDesk().session(ask.sessionId)?.cwd;
  const { input, preview, capabilities } = request;
  const [draft, change] = useDraft(request.promptId, () => ({ reason: "", edited: editText(input) }));
  const approveButton = useRef<HTMLButtonElement>(null);
  const why = obstacle(input);
  const plan = planOf(request);
  const offers = capabilities.scopes ? request.offeredScopes.filter((offer) => offer.scope !== "once") : [];
  const canRemember = offers.length > 0 && why === null;
  const canEdit = capabilities.editInput && why === null;
  const edit = readEdit(input, draft.edited);

  const approve = (scope: Scope, editedInput?: unknown) =>
    answering.send({ action: "approve", scope, ...(editedInput !== undefined && { editedInput }) });
  const remember = (scope: Scope, lines: string[]) =>
    answering.send({ action: "approve", scope, ...(lines.length > 0 && { lines }) });
  const deny = (reason?: string, after?: "stop") =>
    answering.send({ action: "deny", ...(reason && { reason }) }, after);
  useCardKeys({
    letters: {
      a: () => approveButton.current?.focus(),
      d: () => (capabilities.reason ? setPanel("refuse") : undefined),
      ...(canEdit && { e: () => setPanel("edit") }),
      ...(canRemember && { r: () => setPanel("remember") }),
    },
    // Only in a box that a person opened: an approval is pressed, never typed by the way.
    send: () => {
      if (panel === "refuse") deny(draft.reason.trim() || undefined);
      if (panel === "edit" && edit.is === "changed") approve("once", edit.value);
    },
  });

  const isStruck = panel === "edit" && edit.is === "changed";
  return (
    <>
      <CardBody request={request}>
        {request.toolName.length > LONGEST_LINE && <Prose text={request.toolName} />}
        {plan !== null && <PlanView plan={plan} />}
        {preview && (
          <section aria-label="The change" className="grid gap-1">
            <h3 className="text-xs text-ink-2">The change, as the tool shows it</h3>
            <Diff lines={readDiff(preview)} />
            <h3 className="mt-2 text-xs text-ink-2">The input, as it would run</h3>
          </section>
        )}
        {input !== null && input !== undefined && (
          <div className={isStruck ? "text-ink-2 line-through" : ""}>
            <InputView input={input} without={plan === null ? [] : ["plan"]} />
          </div>
        )}
        <Marks marks={request.marks ?? []} />
        {request.cwd && request.cwd !== folder && (
          <p className="text-xs wrap-anywhere text-ink-2">
            Runs in{" "}
            <code className="font-mono">
              <Shown text={request.cwd} where="payload" />
            </code>
          </p>
        )}
        {request.verdict && <Verdict verdict={request.verdict} sessionId={ask.sessionId} />}
        {why && (
          <Warning>
            <Ticked text={why} />
          </Warning>
        )}
      </CardBody>
      <CardActions kept={[draft.reason.trim(), edit.is === "changed" ? draft.edited : ""].filter(Boolean).join("\n\n")}>
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
            input={input}
            text={draft.edited}
            onText={(edited) => change({ edited })}
            onApprove={(value) => approve("once", value)}
          />
        )}
        {panel === "remember" && <RememberPanel offers={offers} onApprove={remember} />}
        {panel === null && (
          <div className="flex flex-wrap items-center gap-2 max-wide:grid max-wide:grid-cols-2 max-wide:[&>*:last-child]:order-1 max-wide:[&>*:nth-child(n+2):nth-last-child(n+2)]:order-2">
            <Decide ref={approveButton} disabled={why !== null} onDecide={() => approve("once")}>
              {plan === null ? (preview ? "Approve edit" : "Approve once") : "Approve plan and start"}
            </Decide>
            {canRemember && <Button onClick={() => setPanel("remember")}>Remember…</Button>}
            {canEdit && (
              <Button onClick={() => setPanel("edit")}>{preview || plan !== null ? "Change it" : "Edit"}</Button>
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
