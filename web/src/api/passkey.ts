// What a browser and a passkey do together. The gateway checks all of it; here are only the two questions.

import type { NewPasskey, PasskeyChallenge, PasskeyConfirmation } from "./generated";
import { Problem } from "./problem";

const REFUSED = "Your passkey did not confirm it, so nothing was done. Try again when you are ready.";

const toBytes = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));

const toText = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const known = (challenge: PasskeyChallenge) =>
  challenge.credentials.map((id) => ({ type: "public-key" as const, id: toBytes(id) }));

/** Whatever the browser objects to, nothing was confirmed. */
async function asked(question: Promise<Credential | null>): Promise<PublicKeyCredential> {
  const answer = await question.catch(() => null);
  if (answer instanceof PublicKeyCredential) return answer;
  throw new Problem(0, { code: "passkey_required", detail: REFUSED });
}

export async function askPasskey(challenge: PasskeyChallenge): Promise<PasskeyConfirmation> {
  const answer = await asked(
    navigator.credentials.get({
      publicKey: {
        challenge: toBytes(challenge.challenge),
        rpId: challenge.site,
        allowCredentials: known(challenge),
        userVerification: "required",
      },
    }),
  );
  const { clientDataJSON, authenticatorData, signature } = answer.response as AuthenticatorAssertionResponse;
  return {
    challenge: challenge.challenge,
    credentialId: toText(answer.rawId),
    clientData: toText(clientDataJSON),
    authenticatorData: toText(authenticatorData),
    signature: toText(signature),
  };
}

export async function makePasskey(challenge: PasskeyChallenge, name: string): Promise<NewPasskey> {
  const made = await asked(
    navigator.credentials.create({
      publicKey: {
        challenge: toBytes(challenge.challenge),
        rp: { id: challenge.site, name: "Holdstead" },
        user: {
          id: new TextEncoder().encode(challenge.personId),
          name: challenge.name,
          displayName: challenge.name,
        },
        // ES256: the one that the gateway checks.
        pubKeyCredParams: [{ type: "public-key", alg: -7 }],
        excludeCredentials: known(challenge),
        authenticatorSelection: { userVerification: "required" },
      },
    }),
  );
  const response = made.response as AuthenticatorAttestationResponse;
  return {
    challenge: challenge.challenge,
    name,
    clientData: toText(response.clientDataJSON),
    authenticatorData: toText(response.getAuthenticatorData()),
  };
}
