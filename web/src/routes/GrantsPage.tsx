import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { gateway } from "../api/gateway";
import type { ListedGrant } from "../api/generated";
import { LIFETIME, ruleWords, SCOPE } from "../interactions/words";
import { mayAnswer, useLive } from "../session/live";
import { useNow } from "../session/now";
import { Shown } from "../text/Shown";
import { age } from "../text/time";
import { Button } from "../ui/Button";

/** Remembered approvals: what each lets pass, and the way to take it back. */
export function GrantsPage() {
  const grants = useQuery({ queryKey: ["grants"], queryFn: gateway.grants, refetchInterval: 10_000 });
  return (
    <main className="h-dvh overflow-y-auto px-6 pb-6 max-wide:px-4">
      <div className="mx-auto max-w-[880px]">
        <Link to="/" className="flex min-h-14 w-fit items-center wide:hidden">
          ‹ Inbox
        </Link>
        <h1 className="pt-5 text-lg font-semibold max-wide:pt-1">Remembered approvals</h1>
        <p className="pt-1 pb-4 text-ink-2">
          What these cover is approved without asking you. Taken back, the next such call asks again.
        </p>
        <p role="alert" className="text-denied empty:hidden">
          {grants.error?.message}
        </p>
        {grants.data?.grants.length === 0 && (
          <p className="py-6 text-base text-ink-2">
            Nothing is remembered. Choose “Remember…” when you approve, and it is listed here.
          </p>
        )}
        <ul className="grid gap-1">
          {grants.data?.grants.map((grant) => (
            <Row key={grant.grantId} grant={grant} />
          ))}
        </ul>
      </div>
    </main>
  );
}

function Row({ grant }: { grant: ListedGrant }) {
  const { me } = useLive();
  const now = useNow();
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => gateway.revokeGrant(grant.grantId, grant.sessionId),
    onSettled: () => queries.invalidateQueries({ queryKey: ["grants"] }),
  });
  return (
    <li className="railed tone-approved flex flex-wrap items-center gap-x-3 gap-y-1 bg-surface px-3 py-2">
      <div className="min-w-0 flex-[1_1_280px]">
        <p className="font-medium wrap-anywhere">{ruleWords(grant)}</p>
        <p className="text-xs wrap-anywhere text-ink-2">
          {grant.sessionId ? (
            <>
              In{" "}
              <Link to="/sessions/$sessionId" params={{ sessionId: grant.sessionId }} className="underline">
                <Shown text={grant.sessionTitle || "its session"} />
              </Link>
            </>
          ) : (
            SCOPE[grant.scope]
          )}
          , {LIFETIME[grant.scope]}. Given by <Shown text={grant.givenBy} />, {age(grant.givenAt, now)}.
          {grant.rule === "exact_input" && (
            <>
              {" "}
              Input <code className="font-mono">{grant.inputDigest.slice(0, 12)}</code>
            </>
          )}
        </p>
        {revoke.error && <p className="text-xs text-denied">{revoke.error.message}</p>}
      </div>
      {mayAnswer(me) && (
        <Button size="small" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
          Take back
        </Button>
      )}
    </li>
  );
}
