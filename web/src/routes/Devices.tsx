import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { gateway } from "../api/gateway";
import type { Device } from "../api/generated";
import { dropToken } from "../api/token";
import { useNow } from "../session/now";
import { Shown } from "../text/Shown";
import { span } from "../text/time";
import { Button } from "../ui/Button";

/** Nothing of what was shown stays on the screen. */
function leave() {
  dropToken();
  location.reload();
}

/** Your browsers, terminals and tokens: when each was used, and the way to log it out. */
export function Devices() {
  const devices = useQuery({ queryKey: ["devices"], queryFn: gateway.devices });
  const [isSure, setSure] = useState(false);
  const everywhere = useMutation({ mutationFn: gateway.logOutEverywhere, onSuccess: leave });
  return (
    <section className="grid gap-2 border-t border-line pt-3">
      <h3 className="font-medium">Where you are logged in</h3>
      <p role="alert" className="text-denied empty:hidden">
        {(devices.error ?? everywhere.error)?.message}
      </p>
      <ul className="grid gap-1">
        {devices.data?.devices.map((device) => (
          <Row key={device.deviceId} device={device} />
        ))}
      </ul>
      {isSure ? (
        <div className="grid gap-2">
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
        <Button size="small" className="w-fit" onClick={() => setSure(true)}>
          Log out everywhere…
        </Button>
      )}
    </section>
  );
}

function Row({ device }: { device: Device }) {
  const now = useNow();
  const queries = useQueryClient();
  const logOut = useMutation({
    mutationFn: () => gateway.logDeviceOut(device.deviceId),
    onSuccess: () => (device.current ? leave() : queries.invalidateQueries({ queryKey: ["devices"] })),
  });
  return (
    <li className="flex items-center gap-3">
      <div className="min-w-0 flex-1">
        <p className="truncate">
          <Shown text={device.name} />
          {device.current && " (this browser)"}
        </p>
        <p className="text-xs text-ink-2">
          {device.lastUsedAt ? `Used ${span(now - Date.parse(device.lastUsedAt))} ago` : "Never used"}
          {device.kind === "token" && ", a token"}
        </p>
        {logOut.error && <p className="text-xs text-denied">{logOut.error.message}</p>}
      </div>
      <Button size="small" disabled={logOut.isPending} onClick={() => logOut.mutate()}>
        {device.kind === "token" ? "Revoke" : "Log out"}
      </Button>
    </li>
  );
}
