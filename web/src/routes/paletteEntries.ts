import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { gateway } from "../api/gateway";
import type { FoundKind } from "../api/generated";
import { useDesk } from "../interactions/transport";
import { headline, lineOf, namesApart, sessionName } from "../interactions/words";
import { mayAnswer, useEndedSessions, useLive, useSessions } from "../session/live";
import { change, type Theme, useSettings } from "../session/settings";
import { useWaiting } from "../session/waiting";
import { brief } from "../text/visible";
import type { IconName } from "../ui/Icon";
import { useSettled } from "../ui/useSettled";
import { leave } from "./leave";
import { eventHash } from "./places";
import { about } from "./SessionList";
import { show } from "./sheet";

export interface Entry {
  key: string;
  group: string;
  name: string;
  icon: IconName;
  /** Where or whose, beside it. */
  more?: string;
  isCode?: boolean;
  go: () => void;
}

const PLACES = [
  { to: "/", name: "Inbox", icon: "inbox" },
  { to: "/sessions", name: "Sessions", icon: "sessions" },
  { to: "/decided", name: "Decided", icon: "tick" },
  { to: "/rules", name: "Rules", icon: "rules" },
  { to: "/you", name: "You", icon: "me" },
] as const;

/** A letter alone is in everything. */
const SHORTEST = 2;

const THEMES: Theme[] = ["system", "light", "dark"];

/** What is at hand: what waits, the sessions, the pages, and what can be started. Nothing here answers an ask. */
export function useEntries(): Entry[] {
  const navigate = useNavigate();
  const { me } = useLive();
  const { mode, setMode } = useDesk();
  const { theme } = useSettings();
  const { now, later } = useWaiting();
  const sessions = [...useSessions(), ...useEndedSessions()];
  const names = namesApart(sessions);
  const logOut = useMutation({ mutationFn: () => gateway.logDeviceOut(me.deviceId), onSuccess: leave });
  const may = mayAnswer(me);
  const actions: (Omit<Entry, "group" | "key"> | false)[] = [
    may && { name: "New session…", icon: "plus", go: () => show("new session") },
    ...THEMES.filter((one) => one !== theme).map((one) => ({
      name: `Theme: ${one}`,
      icon: "gear" as const,
      go: () => change({ theme: one }),
    })),
    may && {
      name: mode === "on" ? "Do not answer in this browser" : "Answer in this browser",
      icon: "gear",
      go: () => setMode(mode === "on" ? "off" : "on"),
    },
    { name: "Log out of this browser", icon: "x", go: () => logOut.mutate() },
  ];
  return [
    ...[...now, ...later].map((ask): Entry => {
      const command = lineOf(ask.request);
      return {
        key: ask.request.interactionId,
        group: "Waiting for you",
        name: command === null ? headline(ask.request, "row") : brief(command),
        icon: command === null ? "ask" : "shell",
        isCode: command !== null,
        more: names.get(ask.sessionId) ?? brief(ask.sessionTitle ?? ""),
        go: () => void navigate({ to: "/", search: { ask: ask.request.interactionId } }),
      };
    }),
    ...sessions.map((session): Entry => {
      const name = names.get(session.sessionId) ?? sessionName(session);
      return {
        key: session.sessionId,
        group: "Sessions",
        name,
        icon: "sessions",
        more: about(session, name),
        go: () => void navigate({ to: "/sessions/$sessionId", params: { sessionId: session.sessionId } }),
      };
    }),
    ...PLACES.map(
      ({ to, name, icon }): Entry => ({ key: to, group: "Go to", name, icon, go: () => void navigate({ to }) }),
    ),
    ...actions.filter((one) => one !== false).map((action): Entry => ({ ...action, key: action.name, group: "Do" })),
  ];
}

export interface Found {
  entries: Entry[];
  isLooking: boolean;
  problem: string | null;
}

const FOUND: Record<FoundKind, { group: string; icon: IconName }> = {
  session: { group: "More sessions", icon: "sessions" },
  message: { group: "Said", icon: "me" },
  call: { group: "Called", icon: "shell" },
  decision: { group: "Decided", icon: "tick" },
};

/** What the gateway finds in titles, messages, calls and decisions. */
export function useFound(typed: string): Found {
  const navigate = useNavigate();
  const words = useSettled(typed.trim());
  const isWorthIt = words.length >= SHORTEST;
  const found = useQuery({
    queryKey: ["search", words],
    queryFn: () => gateway.search(words),
    enabled: isWorthIt,
    placeholderData: (before) => (isWorthIt ? before : undefined),
  });
  const entries = (isWorthIt ? (found.data?.results ?? []) : []).map(
    ({ kind, sessionId, sessionTitle, interactionId, seq, text }): Entry => ({
      // A session's key is the same wherever it comes from: nobody is shown it twice.
      key: kind === "session" ? sessionId : `${kind} ${sessionId} ${seq} ${interactionId ?? ""}`,
      ...FOUND[kind],
      name: brief(text),
      isCode: kind === "call" || kind === "decision",
      more: brief(sessionTitle ?? ""),
      go: () =>
        void navigate({
          to: "/sessions/$sessionId",
          params: { sessionId },
          ...(interactionId ? { search: { ask: interactionId } } : { hash: eventHash(seq) }),
        }),
    }),
  );
  return {
    entries,
    isLooking: typed.trim() !== words || (isWorthIt && found.isFetching),
    problem: found.error?.message ?? null,
  };
}
