import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { gateway } from "../api/gateway";
import type { Pairing } from "../api/generated";
import { useLive } from "../session/live";
import { useNow } from "../session/now";
import { Button } from "../ui/Button";
import { Ticked } from "../ui/Calm";
import { QrCode } from "../ui/QrCode";

const NOT_ENCRYPTED =
  "The connection is not encrypted: whoever can listen in on this network can read along and act as you. Browsers sign their requests over https only, so a device that uses plain http never has an admin's rights. Use https: `docs/guides/phone.md`.";
const NO_NETWORK =
  "The gateway's machine has no address in a private network. With a proxy that leads to it over TLS, open this page there: `docs/guides/phone.md`.";

const isLoopback = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);

/** Lets a phone in: a QR code with an address that works in the local network. */
export function PairPhone() {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="grid gap-2 pt-3">
      {isOpen ? (
        <Pair onClose={() => setOpen(false)} />
      ) : (
        <Button size="small" className="w-fit" onClick={() => setOpen(true)}>
          Pair a phone…
        </Button>
      )}
      {!isSecureContext && (
        <p className="text-xs text-ink-2">
          <Ticked text={`This page came over plain http. ${NOT_ENCRYPTED}`} />
        </p>
      )}
    </div>
  );
}

function Pair({ onClose }: { onClose: () => void }) {
  const { me } = useLive();
  const queries = useQueryClient();
  const network = useQuery({ queryKey: ["network"], queryFn: gateway.network });
  // Who reads this over the network reaches it there; this machine's own names lead a phone to itself.
  const url = isLoopback ? network.data?.open[0] : location.origin;
  const closed = network.data?.closed[0];
  const open = useMutation({
    mutationFn: gateway.openNetwork,
    onSuccess: (now) => queries.setQueryData(["network"], now),
  });
  const error = network.error ?? open.error;
  return (
    <div className="grid gap-2">
      <p role="alert" className="text-denied empty:hidden">
        {error?.message}
      </p>
      {url && <Code url={url} />}
      {network.data && !url && !closed && (
        <p>
          <Ticked text={NO_NETWORK} />
        </p>
      )}
      {network.data && !url && closed && (
        <>
          <p>
            Only the gateway's own machine reaches Holdstead now. A phone needs it at{" "}
            <code className="font-mono break-all">{closed}</code>, and the phone must be in the same network.
          </p>
          <p className="text-xs text-ink-2">
            Whoever is in that network could then see that Holdstead is there; to get in they need a link.{" "}
            <Ticked text={NOT_ENCRYPTED} />
          </p>
          {me.role === "admin" ? (
            <Button size="small" className="w-fit" disabled={open.isPending} onClick={() => open.mutate(closed)}>
              Open it until the gateway stops
            </Button>
          ) : (
            <p>Only an admin may open it. Ask whoever runs this gateway.</p>
          )}
        </>
      )}
      <Button size="small" className="w-fit" onClick={onClose}>
        Close
      </Button>
    </div>
  );
}

/** One link. It is made when somebody asks for it, and is never fetched a second time by itself. */
function Code({ url }: { url: string }) {
  const pairing = useQuery({
    queryKey: ["pairing", url],
    queryFn: () => gateway.pair(url),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const now = useNow();
  if (pairing.error) return <p className="text-denied">{pairing.error.message}</p>;
  if (!pairing.data) return <p className="text-ink-2">One moment…</p>;
  if (now >= Date.parse(pairing.data.expiresAt))
    return (
      <Button size="small" className="w-fit" onClick={() => void pairing.refetch()}>
        This code is too old. Make another one
      </Button>
    );
  return <Shown pairing={pairing.data} isPlain={url.startsWith("http:")} />;
}

function Shown({ pairing, isPlain }: { pairing: Pairing; isPlain: boolean }) {
  const until = new Date(pairing.expiresAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const box = useRef<HTMLDivElement>(null);
  // It stands at the end of a long page, and nobody scans what is below the window's edge.
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), []);
  return (
    <div ref={box} className="grid gap-2">
      <QrCode rows={pairing.qr} label="QR code of the link below" />
      <p>Scan it with the phone's camera, or open this there. It logs one browser in as you, once, until {until}.</p>
      <p className="font-mono text-xs break-all select-all">{pairing.link}</p>
      {isPlain && (
        <p className="text-xs text-ink-2">
          <Ticked text={NOT_ENCRYPTED} />
        </p>
      )}
    </div>
  );
}
