import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, type KeyboardEvent, type RefObject, useRef, useState } from "react";
import { gateway } from "../api/gateway";
import type { HostedAgent, PermissionMode, Session } from "../api/generated";
import { keepDraft } from "../session/drafts";
import { recentFolders } from "../session/groups";
import { SESSIONS, useEndedSessions, useSessions } from "../session/live";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Ticked } from "../ui/Calm";
import { Dialog } from "../ui/Dialog";
import { INPUT } from "../ui/inputs";
import { Kbd } from "../ui/Kbd";

const MODES: { value: PermissionMode; label: string; about: string }[] = [
  { value: "default", label: "Ask", about: "Whatever is not read-only asks you." },
  { value: "acceptEdits", label: "Allow edits", about: "Edits inside the folder pass; the rest asks you." },
  { value: "plan", label: "Plan", about: "The agent plans and changes nothing." },
  {
    value: "auto",
    label: "Allow everything",
    about: "Nothing asks you but the agent's own questions.",
  },
];
const MOST_FOLDERS = 5;

export function NewSession({ open, onClose }: { open: boolean; onClose: () => void }) {
  const first = useRef<HTMLTextAreaElement>(null);
  return (
    <Dialog title="New session" open={open} onClose={onClose} focus={first}>
      <Fields onClose={onClose} first={first} />
    </Dialog>
  );
}

/** The agent of the last session, where it is there; else the first that is. */
function usual(agents: HostedAgent[], sessions: Session[]): string {
  const there = agents.filter((one) => one.installed).map((one) => one.name);
  return sessions.find((session) => there.includes(session.agent))?.agent ?? there[0] ?? "";
}

function Fields({ onClose, first }: { onClose: () => void; first: RefObject<HTMLTextAreaElement | null> }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const agents = useQuery({ queryKey: ["agents"], queryFn: gateway.agents });
  const runners = useQuery({ queryKey: ["runners"], queryFn: gateway.runners }).data?.runners ?? [];
  const open = useSessions();
  const sessions = [...open, ...useEndedSessions()];
  const folders = recentFolders(sessions, MOST_FOLDERS);
  const [message, setMessage] = useState("");
  const [agent, setAgent] = useState<string | null>(null);
  const [cwd, setCwd] = useState<string | null>(null);
  const [machine, setMachine] = useState<string | null>(null);
  const [model, setModel] = useState("");
  const [mode, setMode] = useState<PermissionMode>("default");
  // Asked only where there is a choice: each has folders and agents of its own.
  const runner = runners.find((one) => one.name === machine) ?? runners[0];
  const listed = runner?.agents ?? agents.data?.agents ?? [];
  const there = listed.filter((one) => one.installed);
  const chosen = agent ?? usual(listed, open);
  // Where there are several machines, the last folder may be another one's.
  const place = cwd ?? (runners.length > 1 ? "" : (folders[0] ?? ""));

  const start = useMutation({
    mutationFn: async () => {
      const { sessionId } = await gateway.openSession({
        agent: chosen,
        permissionMode: mode,
        ...(runners.length > 1 && runner && { runner: runner.name }),
        ...(place.trim() && { cwd: place.trim() }),
        ...(model.trim() && { model: model.trim() }),
      });
      // The session is there, whatever becomes of its first message: then that waits where it can be sent again.
      const text = message.trim();
      if (text) await gateway.say(sessionId, text).catch(() => keepDraft(`message:${sessionId}`, text));
      return sessionId;
    },
    onSuccess: async (sessionId) => {
      onClose();
      await queries.invalidateQueries({ queryKey: SESSIONS });
      await navigate({ to: "/sessions/$sessionId", params: { sessionId } });
    },
  });
  const begin = () => {
    if (chosen && !start.isPending) start.mutate();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    begin();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.nativeEvent.isComposing) return;
    event.preventDefault();
    begin();
  };
  const label = "mb-1 block font-medium";
  return (
    <form onSubmit={submit} onKeyDown={onKeyDown} className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <label>
        <span className={label}>What should it do?</span>
        <textarea
          ref={first}
          rows={3}
          className={`${INPUT} field-sizing-content max-h-60 min-h-20`}
          value={message}
          onChange={(event) => setMessage(event.target.value)}
          placeholder="The first message. Its first line becomes the session's title."
        />
      </label>
      {runners.length > 1 && (
        <label>
          <span className={label}>Machine</span>
          <select
            className={INPUT}
            value={runner?.name}
            onChange={(event) => {
              setMachine(event.target.value);
              setAgent(null);
            }}
          >
            {runners.map(({ name }) => (
              <option key={name} value={name}>
                {visible(name)}
              </option>
            ))}
          </select>
        </label>
      )}
      <div>
        <label>
          <span className={label}>Folder</span>
          <input
            className={`${INPUT} font-mono text-mono`}
            value={place}
            onChange={(event) => setCwd(event.target.value)}
            placeholder={runners.length > 1 ? "a folder of that machine" : "the gateway's folder"}
            autoComplete="off"
            spellCheck={false}
          />
        </label>
        {folders.length > 1 && (
          <ul aria-label="Recent folders" className="flex flex-wrap gap-1 pt-1.5">
            {folders.map((one) => (
              <li key={one}>
                <Button
                  size="small"
                  className="max-w-60 font-mono font-normal aria-pressed:bg-sunken aria-pressed:font-medium"
                  aria-pressed={one === place}
                  title={visible(one)}
                  onClick={() => setCwd(one)}
                >
                  <span className="truncate">{visible(one.split("/").filter(Boolean).pop() ?? one)}</span>
                </Button>
              </li>
            ))}
          </ul>
        )}
      </div>
      <div className="grid grid-cols-2 gap-4">
        <label>
          <span className={label}>Agent</span>
          <select className={INPUT} value={chosen} onChange={(event) => setAgent(event.target.value)}>
            {there.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          <span className={label}>Model</span>
          <input
            className={INPUT}
            value={model}
            onChange={(event) => setModel(event.target.value)}
            placeholder="its own choice"
            autoComplete="off"
            spellCheck={false}
          />
        </label>
        {listed
          .filter((one) => !one.installed)
          .map(({ name, missing }) => (
            <p key={name} className="col-span-2 -mt-2 text-xs wrap-anywhere text-ink-2">
              <Ticked text={missing ?? `${name} is not installed.`} />
            </p>
          ))}
      </div>
      <fieldset className="grid grid-cols-2 gap-x-4 max-wide:grid-cols-1">
        <legend className={label}>Permissions</legend>
        {MODES.map(({ value, label: name, about }) => (
          <label key={value} className="flex min-h-8 items-start gap-2 py-1">
            <input
              type="radio"
              name="mode"
              className="mt-0.5 size-4 shrink-0"
              checked={mode === value}
              onChange={() => setMode(value)}
            />
            <span>
              {name}
              <span className="block text-xs text-ink-2">{about}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <p role="alert" className="text-xs text-denied empty:hidden">
        {(agents.error ?? start.error)?.message}
        {agents.data && there.length === 0 && "No agent is installed where the gateway runs."}
      </p>
      <div className="flex gap-2">
        <Button look="solid" type="submit" disabled={!chosen || start.isPending}>
          Start
          <span className="max-wide:hidden">
            <Kbd>Ctrl Enter</Kbd>
          </span>
        </Button>
        <Button look="quiet" onClick={onClose}>
          Back
        </Button>
      </div>
    </form>
  );
}
