import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { gateway } from "../api/gateway";
import type { Passkey } from "../api/generated";
import { useNow } from "../session/now";
import { Shown } from "../text/Shown";
import { ago } from "../text/time";
import { Button } from "../ui/Button";
import { Toggle } from "../ui/Toggle";

/** Browsers use passkeys over https and at localhost, and never for an address in digits. */
const isLocalAddress = ["127.0.0.1", "[::1]"].includes(location.hostname);
const canMake = isSecureContext && !/^\[|^[\d.]+$/.test(location.hostname);

/** Passkeys, and whether one has to confirm what is risky. */
export function Passkeys() {
  const queries = useQueryClient();
  const passkeys = useQuery({ queryKey: ["passkeys"], queryFn: gateway.passkeys });
  const again = () => queries.invalidateQueries({ queryKey: ["passkeys"] });
  const add = useMutation({ mutationFn: gateway.addPasskey, onSettled: again });
  const require = useMutation({ mutationFn: gateway.requirePasskey, onSettled: again });
  const data = passkeys.data;
  const error = passkeys.error ?? add.error ?? require.error;
  return (
    <div className="grid gap-2">
      {data && (
        <Toggle
          on={data.required}
          onChange={(on) => require.mutate(on)}
          hint={
            data.passkeys.length > 0
              ? "In the terminal, marked asks can then be denied, not approved."
              : "Add a passkey first."
          }
        >
          Ask for a passkey before marked, wide and edited approvals, before sessions that allow everything or bring
          programs, and before folders are trusted and rules are saved
        </Toggle>
      )}
      <ul className="divide-y divide-line">
        {data?.passkeys.map((passkey) => (
          <Row key={passkey.passkeyId} passkey={passkey} />
        ))}
      </ul>
      <p role="alert" className="text-denied empty:hidden">
        {error?.message}
      </p>
      {canMake ? (
        <Button size="small" className="w-fit" disabled={add.isPending} onClick={() => add.mutate(nameOf())}>
          Add a passkey…
        </Button>
      ) : (
        <Elsewhere />
      )}
    </div>
  );
}

/** What a person will know it by: they made it in this browser. */
const nameOf = () => (/Android|iPhone|iPad/.test(navigator.userAgent) ? "Phone" : "Computer");

function Elsewhere() {
  const go = useMutation({
    mutationFn: () => gateway.pair(`http://localhost:${location.port}`),
    onSuccess: ({ link }) => location.assign(link),
  });
  if (!isLocalAddress)
    return <p className="text-ink-2">Passkeys need this page over https: browsers make none for plain http.</p>;
  return (
    <>
      <p className="text-ink-2">
        Browsers make passkeys for names, and this page's address is a number. Open the same page at localhost to add
        one.
      </p>
      <Button size="small" className="w-fit" disabled={go.isPending} onClick={() => go.mutate()}>
        Open at localhost
      </Button>
      {go.error && <p className="text-denied">{go.error.message}</p>}
    </>
  );
}

function Row({ passkey }: { passkey: Passkey }) {
  const now = useNow();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => gateway.removePasskey(passkey.passkeyId),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["passkeys"] }),
  });
  return (
    <li className="flex items-center gap-3 py-2">
      <div className="min-w-0 flex-1">
        <p className="truncate">
          <Shown text={passkey.name} />
        </p>
        <p className="text-xs text-ink-2">
          For <Shown text={passkey.site} />,{" "}
          {passkey.lastUsedAt ? `used ${ago(passkey.lastUsedAt, now)}` : "never used"}
        </p>
        {remove.error && <p className="text-xs text-denied">{remove.error.message}</p>}
      </div>
      <Button size="small" disabled={remove.isPending} onClick={() => remove.mutate()}>
        Remove
      </Button>
    </li>
  );
}
