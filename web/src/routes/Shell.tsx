import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Outlet, useLocation, useMatchRoute, useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useRef } from "react";
import { gateway } from "../api/gateway";
import type { WhoAmI } from "../api/generated";
import { onIdentityChange } from "../api/identity";
import { isLoggedOut } from "../api/problem";
import { randomName } from "../api/random";
import { AnswerProvider } from "../interactions/transport";
import { InboxFeed } from "../session/inbox";
import { type Live, LiveProvider, SESSIONS } from "../session/live";
import { settings } from "../session/settings";
import { useWaiting } from "../session/waiting";
import { Calm, Ticked } from "../ui/Calm";
import { useGatewayDesk } from "./desk";
import { NEEDS_LINK } from "./LoginPage";
import { announce, notify } from "./notify";
import { OfferToNotify } from "./OfferToNotify";
import { Sheets } from "./Sheets";
import { Sidebar, Tabs } from "./Sidebar";
import { useKeys } from "./useKeys";

/** Finds out who looks, then shows the frame around every screen. */
export function Shell() {
  const queries = useQueryClient();
  useEffect(() => {
    // A reply that is on its way is about the browser as it was.
    const askAgain = async () => {
      await queries.cancelQueries({ queryKey: ["me"] });
      await queries.invalidateQueries({ queryKey: ["me"] });
    };
    return onIdentityChange((news) => (news === "in" ? void askAgain() : location.reload()));
  }, [queries]);
  const me = useQuery({
    queryKey: ["me"],
    queryFn: gateway.me,
    retry: (_count, error) => !isLoggedOut(error),
    retryDelay: 2_000,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (me.data) return <Frame me={me.data} />;
  const error = me.error ?? me.failureReason;
  if (isLoggedOut(error)) {
    return (
      <Calm>
        <Ticked text={NEEDS_LINK} />
      </Calm>
    );
  }
  return error ? <Calm>{error.message} Trying again…</Calm> : null;
}

const client = randomName();

function Frame({ me }: { me: WhoAmI }) {
  const queries = useQueryClient();
  const router = useRouter();
  const soon = useRef<ReturnType<typeof setTimeout>>(undefined);
  const inbox = useMemo(
    () =>
      new InboxFeed({
        interaction: gateway.interaction,
        page: gateway.interactions,
        client,
        mode: () => settings().interaction,
        onRefused: (problem) => isLoggedOut(problem) && location.reload(),
        onNew: (ask) =>
          notify(ask, ({ request }) => router.navigate({ to: "/", search: { ask: request.interactionId } })),
        onChange: () => {
          clearTimeout(soon.current);
          soon.current = setTimeout(() => queries.invalidateQueries({ queryKey: SESSIONS }), 150);
        },
      }),
    [queries, router],
  );
  useEffect(() => inbox.start(), [inbox]);
  const live = useMemo(() => ({ me, inbox, client }), [me, inbox]);
  return (
    <LiveProvider value={live}>
      <Desk live={live} />
    </LiveProvider>
  );
}

function Desk({ live }: { live: Live }) {
  const desk = useGatewayDesk(live);
  const { now } = useWaiting();
  useEffect(() => announce(now.length), [now.length]);
  const isWide = useSearch({ strict: false, select: (search) => search.wide === true });
  const hasAsk = useSearch({ strict: false, select: (search) => search.ask !== undefined });
  const inSession = useMatchRoute()({ to: "/sessions/$sessionId" }) !== false;
  // On a phone a card and a session have the whole screen.
  const fillsPhone = hasAsk || inSession;
  useKeys();
  useAskLink();
  return (
    <AnswerProvider value={desk}>
      <div
        className={`grid h-dvh grid-cols-[minmax(0,1fr)] grid-rows-[minmax(0,1fr)_auto] wide:grid-rows-[minmax(0,1fr)] ${
          isWide
            ? "wide:grid-cols-[56px_minmax(0,1fr)]"
            : "wide:grid-cols-[56px_minmax(0,1fr)] desk:grid-cols-[224px_minmax(0,1fr)] hall:grid-cols-[256px_minmax(0,1fr)]"
        }`}
      >
        <Sidebar thin={isWide} />
        <Outlet />
        {!fillsPhone && <Tabs />}
      </div>
      <OfferToNotify fillsPhone={fillsPhone} />
      <Sheets />
    </AnswerProvider>
  );
}

/** `/#int_…`, as terminals and notifications write it, selects the ask. */
function useAskLink(): void {
  const navigate = useNavigate();
  const hash = useLocation({ select: (place) => place.hash });
  useEffect(() => {
    if (!hash.startsWith("int_")) return;
    void navigate({ to: "/", search: { ask: hash }, hash: "", replace: true });
  }, [hash, navigate]);
}
