import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { gateway } from "../api/gateway";
import type { Device } from "../api/generated";
import { useNow } from "../session/now";
import { Shown } from "../text/Shown";
import { ago } from "../text/time";
import { Button } from "../ui/Button";
import { Ticked } from "../ui/Calm";
import { Icon, type IconName } from "../ui/Icon";
import { leave } from "./leave";

/** Your browsers, terminals and tokens: when each was used, and the way to log it out. */
export function Devices() {
  const devices = useQuery({ queryKey: ["devices"], queryFn: gateway.devices });
  const [isSure, setSure] = useState(false);
  const everywhere = useMutation({ mutationFn: gateway.logOutEverywhere, onSuccess: leave });
  return (
    <div>
      <p role="alert" className="text-denied empty:hidden">
        {(devices.error ?? everywhere.error)?.message}
      </p>
      <ul className="divide-y divide-line border-b border-line">
        {[...(devices.data?.devices ?? [])].sort(hereFirst).map((device) => (
          <Row key={device.deviceId} device={device} />
        ))}
      </ul>
      {isSure ? (
        <div className="grid gap-2 pt-3">
          <p>
            All your browsers, terminals and tokens are logged out, this browser too. The way back in:{" "}
            <code className="font-mono">holdstead login</code> on the gateway's machine.
          </p>
          <div className="flex gap-2">
            <Button look="solid" size="small" disabled={everywhere.isPending} onClick={() => everywhere.mutate()}>
              Log out everywhere
            </Button>
            <Button size="small" onClick={() => setSure(false)}>
              Cancel
            </Button>
          </div>
        </div>
      ) : (
        <Button size="small" className="mt-3" onClick={() => setSure(true)}>
          Log out everywhere…
        </Button>
      )}
    </div>
  );
}

/** This one, then the one that was used last. */
const hereFirst = (a: Device, b: Device): number =>
  Number(b.current) - Number(a.current) || used(b) - used(a) || Date.parse(b.createdAt) - Date.parse(a.createdAt);
const used = ({ lastUsedAt, createdAt }: Device): number => Date.parse(lastUsedAt ?? createdAt);

/** Which phone is one is a guess from its name, for the eye alone. */
const icon = ({ kind, name }: Device): IconName => {
  switch (kind) {
    case "token":
      return "token";
    case "terminal":
      return "sessions";
    case "browser":
      return /iphone|android|mobile/i.test(name) ? "phone" : "laptop";
  }
};

const PROOFS: Record<Device["identifiedBy"], string> = {
  key: "signs its requests with a key",
  bearer: "sends a bearer token",
  token: "a token",
};
const PLAIN =
  "Its browser cannot sign over plain http, so it has no admin's rights. Open Holdstead over https there: `docs/guides/phone.md`.";

function Row({ device }: { device: Device }) {
  const now = useNow();
  const queries = useQueryClient();
  const logOut = useMutation({
    mutationFn: () => gateway.logDeviceOut(device.deviceId),
    onSuccess: () => (device.current ? leave() : queries.invalidateQueries({ queryKey: ["devices"] })),
  });
  return (
    <li className="flex min-h-13 items-center gap-3 py-1.5">
      <Icon name={icon(device)} className="size-4 text-ink-3" />
      <div className="min-w-0 flex-1">
        <p className={`truncate ${device.current ? "font-medium" : ""}`}>
          <Shown text={device.name} />
          {device.current && " (this browser)"}
        </p>
        <p className="text-xs text-ink-3">
          {device.lastUsedAt ? `Used ${ago(device.lastUsedAt, now)}` : "Never used"}
          {`, ${PROOFS[device.identifiedBy]}`}
        </p>
        {device.identifiedBy === "bearer" && (
          <p className="text-xs text-ink-2">
            <Ticked text={PLAIN} />
          </p>
        )}
        {logOut.error && <p className="text-xs text-denied">{logOut.error.message}</p>}
      </div>
      <Button size="small" disabled={logOut.isPending} onClick={() => logOut.mutate()}>
        {device.kind === "token" ? "Revoke" : "Log out"}
      </Button>
    </li>
  );
}
