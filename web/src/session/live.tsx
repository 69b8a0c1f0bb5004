// What every screen shares: who looks, the inbox, the sessions, the time.

import { useQuery } from "@tanstack/react-query";
import { createContext, use, useSyncExternalStore } from "react";
import { gateway } from "../api/gateway";
import type { Session, WhoAmI } from "../api/generated";
import type { Inbox, InboxFeed } from "./inbox";

export interface Live {
  me: WhoAmI;
  inbox: InboxFeed;
  /** The name of this tab among the person's clients. */
  client: string;
}

const Context = createContext<Live | null>(null);
export const LiveProvider = Context.Provider;

export function useLive(): Live {
  const live = use(Context);
  if (!live) throw new Error("There is no LiveProvider above this.");
  return live;
}

export function useInbox(): Inbox {
  const { inbox } = useLive();
  return useSyncExternalStore(inbox.subscribe, inbox.view);
}

export const SESSIONS = ["sessions"] as const;

/** The sessions that have not ended, newest first. They are read again when the inbox changes, and now and then. */
export function useSessions(): Session[] {
  const { data } = useQuery({ queryKey: SESSIONS, queryFn: gateway.sessions, refetchInterval: 5_000 });
  return data?.sessions ?? NONE;
}
const NONE: Session[] = [];

/** Those that ended last. */
export function useEndedSessions(): Session[] {
  const { data } = useQuery({
    queryKey: [...SESSIONS, "ended"],
    queryFn: gateway.endedSessions,
    refetchInterval: 30_000,
  });
  return data?.sessions ?? NONE;
}

/** Those that were put away, once somebody wants to see them. */
export function useArchivedSessions(wanted: boolean): Session[] {
  const { data } = useQuery({
    queryKey: [...SESSIONS, "archived"],
    queryFn: gateway.archivedSessions,
    enabled: wanted,
  });
  return (wanted && data?.sessions) || NONE;
}

/** Was anything ever started here? Nothing is said before it is known. */
export function useHasSessions(): boolean | null {
  const open = useQuery({ queryKey: SESSIONS, queryFn: gateway.sessions });
  const ended = useQuery({ queryKey: [...SESSIONS, "ended"], queryFn: gateway.endedSessions });
  const isListed = (open.data?.sessions.length ?? 0) + (ended.data?.sessions.length ?? 0) > 0;
  const archived = useQuery({
    queryKey: [...SESSIONS, "archived"],
    queryFn: gateway.archivedSessions,
    enabled: open.isSuccess && ended.isSuccess && !isListed,
  });
  if (isListed) return true;
  return archived.data ? archived.data.sessions.length > 0 : null;
}

/** One session: of the list, or, where it has ended or is too old for that, by itself. */
export function useSession(id: string): Session | null {
  const list = useQuery({ queryKey: SESSIONS, queryFn: gateway.sessions, refetchInterval: 5_000 });
  const listed = list.data?.sessions.find((one) => one.sessionId === id);
  const alone = useQuery({
    queryKey: ["session", id],
    queryFn: () => gateway.session(id),
    enabled: list.isSuccess && listed === undefined,
    refetchInterval: 10_000,
  });
  return listed ?? alone.data ?? null;
}

export const mayAnswer = (me: WhoAmI): boolean => me.role === "person" || me.role === "admin";
