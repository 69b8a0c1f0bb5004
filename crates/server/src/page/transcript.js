// A session's events, folded into what is read. No DOM here.

/** @returns {{items: object[], agent: string, seq: number, tools: Map, asks: Map}} */
export const emptyTranscript = () => ({ items: [], agent: "idle", seq: 0, tools: new Map(), asks: new Map() });

/**
 * Fold one event in. Returns the places that changed; an event seen before changes nothing.
 * The transcript is changed in place: a long session has a hundred thousand deltas.
 * @returns {number[]}
 */
export function apply(transcript, event) {
  if (event.seq <= transcript.seq) return [];
  transcript.seq = event.seq;
  const { data, at } = event;
  switch (event.type) {
    case "session_opened": return [];
    case "user_message": return add(transcript, { kind: "user", text: data.text, from: data.from, at });
    case "text_delta": return speak(transcript, "text", data);
    case "thinking_delta": return speak(transcript, "thinking", data);
    case "tool_call_start": {
      const [index] = add(transcript, { kind: "tool", name: data.toolName, parents: data.parents, streamed: "" });
      transcript.tools.set(data.toolCallId, index);
      return [index];
    }
    case "tool_call_delta": return onTool(transcript, data, (tool) => { tool.streamed += data.text; });
    // The complete input replaces streamed argument text.
    case "tool_call_end": return onTool(transcript, data, (tool) => { tool.input = data.input; tool.streamed = ""; });
    case "tool_result": return onTool(transcript, data, (tool) => { tool.output = data.output; tool.isError = data.isError === true; });
    case "interaction_request": return request(transcript, data, at);
    case "interaction_response": return onAsk(transcript, data, (ask) => {
      ask.response = data;
      ask.respondedAt = at;
      ask.state = data.settlement ? "settled" : "submitted";
      ask.settlement = data.settlement;
    });
    case "interaction_update": return onAsk(transcript, data, (ask) => update(ask, data));
    case "interaction_closed": return onAsk(transcript, data, (ask) => { ask.state = "closed"; ask.closing = data.closing; });
    case "late_answer": return [
      ...onAsk(transcript, data, (ask) => {
        if (ask.state === "queued") Object.assign(ask, { state: "closed", closing: "answered_late" });
      }),
      ...add(transcript, { kind: "user", text: data.text, from: data.name, at }),
    ];
    case "session_status": return status(transcript, data);
    case "error": return add(transcript, { kind: "error", text: data.message });
    case "done": return add(transcript, { kind: "done", reason: data.reason, usage: data.usage, at });
    case "grant_added": return add(transcript, { kind: "note", text: `Remembered: ${data.toolName} with exactly that input.` });
    case "grant_revoked":
      return data.why === "revoked" ? add(transcript, { kind: "note", text: `${data.name} took a remembered approval back.` }) : [];
    default: return [];
  }
}

function add(transcript, item) {
  transcript.items.push(item);
  return [transcript.items.length - 1];
}

/** Deltas of one message are one text, until something else comes between. */
function speak(transcript, kind, { messageId, text, parents }) {
  const index = transcript.items.length - 1;
  const last = transcript.items[index];
  if (last?.kind === kind && last.messageId === messageId) {
    last.text += text;
    return [index];
  }
  return add(transcript, { kind, messageId, text, parents });
}

function onTool(transcript, { toolCallId }, change) {
  const index = transcript.tools.get(toolCallId);
  if (index === undefined) return [];
  change(transcript.items[index]);
  return [index];
}

function onAsk(transcript, { interactionId }, change) {
  const index = transcript.asks.get(interactionId);
  if (index === undefined) return [];
  change(transcript.items[index].ask);
  return [index];
}

/** Asking again is a new prompt at the place of the first. */
function request(transcript, data, at) {
  const fresh = { request: data, state: "open", settlement: undefined, closing: undefined, response: undefined, respondedAt: undefined };
  const again = onAsk(transcript, data, (ask) => Object.assign(ask, fresh));
  if (again.length > 0) return again;
  const [index] = add(transcript, { kind: "ask", ask: { ...fresh, openedAt: at, parked: false } });
  transcript.asks.set(data.interactionId, index);
  return [index];
}

function update(ask, data) {
  switch (data.change) {
    case "settled": Object.assign(ask, { state: "settled", settlement: data.settlement }); break;
    case "queued": ask.state = "queued"; break;
    case "delivery": ask.delivery = data; break;
  }
}

const STATUS_NOTE = {
  parked: "Parked: the answer starts it again.",
  detached: "The agent's process stopped unexpectedly.",
  ended: "The session has ended.",
};

function status(transcript, data) {
  transcript.agent = data.agent;
  const note = STATUS_NOTE[data.agent];
  return note ? add(transcript, { kind: "note", text: data.message ? `${note} ${data.message}` : note }) : [];
}
