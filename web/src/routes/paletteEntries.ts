import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { gateway } from "../api/gateway";
import { useDesk } from "../interactions/transport";
import { commandOf, headline, namesApart, sessionName } from "../interactions/words";
import { mayAnswer, useEndedSessions, useLive, useSessions } from "../session/live";
import { change, type Theme, useSettings } from "../session/settings";
import { useWaiting } from "../session/waiting";
import { brief } from "../text/visible";
import type { IconName } from "../ui/Icon";
import { leave } from "./leave";
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
      const command = ask.request.kind === "approval" ? commandOf(ask.request.input) : null;
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

/** What the gateway finds in titles, messages, calls and decisions. */
export function useFound(_typed: string): Found {
  return { entries: [], isLooking: false, problem: null };
}
