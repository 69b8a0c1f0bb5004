// Marked asks, and what a browser's passkey confirms of them.

import { call } from "./as-browser.mjs";
import { until } from "./harness.mjs";

let number = 0;

export const confirm = (page, answer) => call(page, "POST", "/v1/passkeys/confirmations", answer);

/** Has the passkey answer for a purpose; what to send, not sent yet. */
export async function signed(page, purpose) {
  const { body: challenge } = await call(page, "POST", "/v1/passkeys/challenges", purpose);
  return page.evaluate(async (challenge) => {
    const bytes = (text) =>
      Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
    const text = (bytes) =>
      btoa(String.fromCharCode(...new Uint8Array(bytes)))
        .replaceAll("+", "-")
        .replaceAll("/", "_")
        .replaceAll("=", "");
    const answer = await navigator.credentials.get({
      publicKey: {
        challenge: bytes(challenge.challenge),
        rpId: challenge.site,
        allowCredentials: challenge.credentials.map((id) => ({ type: "public-key", id: bytes(id) })),
        userVerification: "required",
      },
    });
    return {
      challenge: challenge.challenge,
      credentialId: text(answer.rawId),
      clientData: text(answer.response.clientDataJSON),
      authenticatorData: text(answer.response.authenticatorData),
      signature: text(answer.response.signature),
    };
  }, challenge);
}

/** A marked ask. */
export async function marked(gateway) {
  number += 1;
  const session = await gateway.session(`marked ${number}`);
  await gateway.say(session, `approve Bash {"command":"rm -rf build-${number}"}`);
  const ask = await until("the ask", async () => {
    const { interactions } = await gateway.call("GET", `/v1/interactions?session=${session}`);
    return interactions[0]?.request;
  });
  if (!(ask.marks?.length > 0)) throw new Error("the ask is not marked");
  const approve = { promptId: ask.promptId, idempotencyKey: `key-${number}`, action: "approve" };
  const purpose = {
    purpose: "approve",
    interactionId: ask.interactionId,
    promptId: ask.promptId,
    response: { action: "approve" },
  };
  return { session, ask, approve, purpose, respond: `/v1/interactions/${ask.interactionId}/respond` };
}
