import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { gateway } from "../api/gateway";
import type { PermissionMode } from "../api/generated";
import { SESSIONS } from "../session/live";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { INPUT } from "../ui/inputs";

const MODES: { value: PermissionMode; label: string; about: string }[] = [
  { value: "default", label: "Ask", about: "Whatever is not read-only asks you." },
  { value: "acceptEdits", label: "Allow edits", about: "Edits inside the folder pass; the rest asks you." },
  { value: "plan", label: "Plan", about: "The agent plans and changes nothing." },
  {
    value: "auto",
    label: "Allow everything",
    about: "Every tool is allowed, by a rule that the journal names. Questions still reach you.",
  },
];

export function NewSession({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog title="New session" open={open} onClose={onClose}>
      <Fields onClose={onClose} />
    </Dialog>
  );
}

function Fields({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const agents = useQuery({ queryKey: ["agents"], queryFn: gateway.agents });
  const [agent, setAgent] = useState("");
  const [cwd, setCwd] = useState("");
  const [mode, setMode] = useState<PermissionMode>("default");
  // What can start comes first; what is not installed is named with what to do.
  const listed = [...(agents.data?.agents ?? [])].sort((a, b) => Number(b.installed) - Number(a.installed));
  const missing = listed.filter((one) => !one.installed);
  const chosen = agent || listed.find((one) => one.installed)?.name || "";
  const start = useMutation({
    mutationFn: () =>
      gateway.openSession({ agent: chosen, permissionMode: mode, ...(cwd.trim() && { cwd: cwd.trim() }) }),
    onSuccess: async ({ sessionId }) => {
      onClose();
      await queries.invalidateQueries({ queryKey: SESSIONS });
      await navigate({ to: "/sessions/$sessionId", params: { sessionId } });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start.mutate();
  };
  const label = "mb-1 block font-medium";
  return (
    <form onSubmit={submit} className="grid gap-4">
      <label>
        <span className={label}>Agent</span>
        <select className={INPUT} value={chosen} onChange={(event) => setAgent(event.target.value)}>
          {listed.map(({ name, installed }) => (
            <option key={name} value={name} disabled={!installed}>
              {installed ? name : `${name} (not installed)`}
            </option>
          ))}
        </select>
        {missing.map(({ name, missing: words }) => (
          <span key={name} className="mt-1 block text-xs wrap-anywhere text-ink-2">
            {words}
          </span>
        ))}
      </label>
      <label>
        <span className={label}>Folder</span>
        <input
          className={`${INPUT} font-mono text-mono`}
          value={cwd}
          onChange={(event) => setCwd(event.target.value)}
          placeholder="the gateway's folder"
          autoComplete="off"
          spellCheck={false}
        />
      </label>
      <fieldset>
        <legend className={label}>Permissions</legend>
        {MODES.map(({ value, label: name, about }) => (
          <label key={value} className="flex min-h-9 items-start gap-2 py-1.5">
            <input
              type="radio"
              name="mode"
              className="mt-0.5 size-4"
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
        {agents.data && listed.length === 0 && "No agent is set up here."}
      </p>
      <div className="flex gap-2">
        <Button look="solid" type="submit" disabled={!chosen || start.isPending}>
          Start
        </Button>
        <Button look="quiet" onClick={onClose}>
          Back
        </Button>
      </div>
    </form>
  );
}
