// Calls to the gateway, through the client that is generated from its OpenAPI document.

import { parseExact } from "./exact";
import {
  type Agents,
  addPasskey,
  addRule,
  archiveSession,
  type CallToExplain,
  challengePasskey,
  confirmWithPasskey,
  type DecisionPage,
  type DevicePage,
  type EventPage,
  type ExplainedCall,
  endSession,
  explainCall,
  type FolderFiles,
  type Interaction,
  type InteractionMode,
  type InteractionPage,
  type Interrupted,
  interruptSession,
  type LoggedIn,
  listAgents,
  listDecisions,
  listDevices,
  listInteractions,
  listPasskeys,
  listRules,
  listRunners,
  listSessions,
  logDeviceOut,
  login,
  logOutEverywhere,
  type ManyReceipts,
  type MessageAccepted,
  me,
  type Network,
  type OpenSession,
  openNetwork,
  openSession,
  type Pairing,
  type PasskeyChallenge,
  type PasskeyPage,
  type PasskeyPurpose,
  pair,
  type Receipt,
  type Respond,
  type RespondMany,
  type ResponseDraft,
  type RulePage,
  type Runners,
  removePasskey,
  requirePasskey,
  respond,
  respondToMany,
  revokeRule,
  type SavedRule,
  type SearchPage,
  type Session,
  type SessionPage,
  type SnoozeAsk,
  type SuggestionPage,
  search,
  sendMessage,
  sessionEvents,
  setInteractionMode,
  showFolderFiles,
  showInteraction,
  showNetwork,
  showSession,
  snoozeInteraction,
  suggestRules,
  type Trust,
  type TrustFolder,
  trustFolder,
  unarchiveSession,
  unsnoozeInteraction,
  type WhoAmI,
} from "./generated";
import { client } from "./generated/client.gen";
import type { BrowserKey } from "./key";
import { askPasskey, makePasskey } from "./passkey";
import { Problem } from "./problem";
import { randomName } from "./random";
import { says, send, signedFetch } from "./signed";

const PATIENCE_MS = 20_000;

client.setConfig({
  baseUrl: "",
  cache: "no-store",
  // Parsed here, so that numbers keep their digits.
  parseAs: "text",
  headers: { Accept: "application/json" },
  fetch: (request: RequestInfo | URL) => signedFetch(request, { signal: AbortSignal.timeout(PATIENCE_MS) }),
});

client.interceptors.request.use((request, { serializedBody }) =>
  serializedBody === undefined ? request : says(request, serializedBody),
);

/** Takes what a generated function returns; throws a Problem if it is not what was asked for. */
async function take<T>(call: Promise<{ data?: unknown; error?: unknown; response?: Response }>): Promise<T> {
  const { data, error, response } = await call.catch(() => ({
    data: undefined,
    error: undefined,
    response: undefined,
  }));
  if (!response) throw Problem.network();
  if (!response.ok) throw new Problem(response.status, typeof error === "object" && error !== null ? error : {});
  if (typeof data !== "string" || data === "") return undefined as T;
  try {
    return parseExact(data) as T;
  } catch {
    throw new Problem(response.status, { detail: "The gateway's answer could not be read." });
  }
}

/** The gateway takes only what is declared as JSON, and the client declares nothing without a body. */
const JSON_BODY = { "Content-Type": "application/json" };
const EMPTY = {} as never;

/** Where the gateway wants a passkey for it, one confirms exactly this, and it is done then. */
async function withPasskey<T>(purpose: PasskeyPurpose, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "passkey_required") throw error;
  }
  const challenge = await take<PasskeyChallenge>(challengePasskey({ body: purpose }));
  await take<void>(confirmWithPasskey({ body: await askPasskey(challenge) }));
  return act();
}

function approval(interactionId: string, { promptId, idempotencyKey: _, ...response }: Respond): PasskeyPurpose {
  return { purpose: "approve", interactionId, promptId, response: response as ResponseDraft };
}

const trusted = (body: TrustFolder) =>
  withPasskey({ purpose: "trust_folder", trust: body }, () => take<Trust>(trustFolder({ body })));

/** The last message, while it is not known whether it arrived. */
let unsure: { id: string; text: string; messageId: string } | null = null;

/** The same words to the same session, after a failure, are the same message: it is said once. */
async function say(id: string, text: string): Promise<MessageAccepted> {
  const again = unsure?.id === id && unsure.text === text;
  const messageId = again && unsure ? unsure.messageId : `msg_${randomName()}`;
  unsure = { id, text, messageId };
  const accepted = await take<MessageAccepted>(sendMessage({ path: { id }, body: { text, messageId } }));
  unsure = null;
  return accepted;
}

export const gateway = {
  me: () => take<WhoAmI>(me()),
  /** With a key that this browser did not use yet, or with none where it cannot sign. */
  login: (code: string, key: BrowserKey | null) =>
    take<LoggedIn>(
      login({
        body: { code },
        fetch: (request: RequestInfo | URL) =>
          send(key && { kind: "key", key }, request, { signal: AbortSignal.timeout(PATIENCE_MS) }),
      }),
    ),
  agents: () => take<Agents>(listAgents()),
  runners: () => take<Runners>(listRunners()),
  sessions: () => take<SessionPage>(listSessions({ query: { state: "open", limit: 200 } })),
  endedSessions: () => take<SessionPage>(listSessions({ query: { state: "ended", limit: 50 } })),
  archivedSessions: () => take<SessionPage>(listSessions({ query: { state: "archived", limit: 200 } })),
  session: (id: string) => take<Session>(showSession({ path: { id } })),
  openSession: (body: OpenSession) =>
    withPasskey({ purpose: "open_session", session: body }, () => take<Session>(openSession({ body }))),
  say,
  interrupt: (id: string) => take<Interrupted>(interruptSession({ path: { id }, body: EMPTY, headers: JSON_BODY })),
  archive: (id: string) => take<void>(archiveSession({ path: { id }, body: EMPTY, headers: JSON_BODY })),
  unarchive: (id: string) => take<void>(unarchiveSession({ path: { id } })),
  end: (id: string) => take<void>(endSession({ path: { id } })),
  interactions: (after: string) => take<InteractionPage>(listInteractions({ query: { after, limit: 200 } })),
  interaction: (id: string) => take<Interaction>(showInteraction({ path: { id } })),
  respond: (id: string, body: Respond, mode: InteractionMode) =>
    withPasskey(approval(id, body), () =>
      take<Receipt>(respond({ path: { id }, body, headers: { "Holdstead-Interaction": mode } })),
    ),
  respondMany: (body: RespondMany, mode: InteractionMode) =>
    take<ManyReceipts>(respondToMany({ body, headers: { "Holdstead-Interaction": mode } })),
  /** The events of a session that lead up to one of them. */
  eventsBefore: (id: string, seq: number, many: number) =>
    take<EventPage>(sessionEvents({ path: { id }, query: { after: Math.max(0, seq - many), limit: many } })),
  /** Puts an ask off for all of a person's screens. */
  snooze: (id: string, body: SnoozeAsk) => take<Interaction>(snoozeInteraction({ path: { id }, body })),
  unsnooze: (id: string) => take<Interaction>(unsnoozeInteraction({ path: { id } })),
  setMode: (client: string, mode: InteractionMode) => take<void>(setInteractionMode({ body: { client, mode } })),
  decisions: ({ q, before }: { q: string; before: string | undefined }) =>
    take<DecisionPage>(listDecisions({ query: { ...(q && { q }), ...(before && { before }), limit: 50 } })),
  /** However long it takes: it may be a hundred thousand lines. */
  exportDecisions: async (format: "csv" | "jsonl"): Promise<Blob> => {
    const answer = await signedFetch(`/v1/decisions/export?format=${format}`, { cache: "no-store" });
    if (!answer.ok) throw new Problem(answer.status, await answer.json().catch(() => ({})));
    return answer.blob();
  },
  search: (q: string) => take<SearchPage>(search({ query: { q, limit: 12 } })),
  rules: () => take<RulePage>(listRules()),
  explain: (body: CallToExplain) => take<ExplainedCall>(explainCall({ body })),
  suggestions: () => take<SuggestionPage>(suggestRules()),
  addRule: (line: string) =>
    withPasskey({ purpose: "save_rule", rule: { line } }, () => take<SavedRule>(addRule({ body: { line } }))),
  revokeRule: (id: string, session?: string | null) =>
    take<void>(revokeRule({ path: { id }, query: session ? { session } : {} })),
  devices: () => take<DevicePage>(listDevices()),
  passkeys: () => take<PasskeyPage>(listPasskeys()),
  addPasskey: async (name: string) => {
    const challenge = await take<PasskeyChallenge>(challengePasskey({ body: { purpose: "register" } }));
    const body = await makePasskey(challenge, name);
    return withPasskey({ purpose: "add_passkey" }, () => take<PasskeyPage>(addPasskey({ body })));
  },
  removePasskey: (id: string) =>
    withPasskey({ purpose: "remove_passkey", passkeyId: id }, () => take<void>(removePasskey({ path: { id } }))),
  requirePasskey: (required: boolean) =>
    withPasskey({ purpose: "switch_off" }, () => take<void>(requirePasskey({ body: { required } }))),
  network: () => take<Network>(showNetwork()),
  openNetwork: (url: string) => take<Network>(openNetwork({ body: { url } })),
  pair: (url: string) => take<Pairing>(pair({ body: { url } })),
  logDeviceOut: (id: string) => take<void>(logDeviceOut({ path: { id } })),
  logOutEverywhere: () => take<void>(logOutEverywhere()),
  /** Lets rules allow what runs a folder's own code, with the folder's rules as they are now. */
  trustRepository: async (folder: string) => {
    const agent = "rules";
    const found = await take<FolderFiles>(showFolderFiles({ query: { agent, folder } }));
    if (!found.digest) throw new Error("This folder's rules cannot be trusted: the file is too large, or a link.");
    await trusted({ agent, folder: found.folder, digest: found.digest });
  },
  trustFolder: trusted,
};

export type Gateway = typeof gateway;
