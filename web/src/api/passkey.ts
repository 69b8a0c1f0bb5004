// What a browser and a passkey do together. The gateway checks all of it; here are only the two questions.

import { fromBase64Url, toBase64Url } from "./base64";
import type { NewPasskey, PasskeyChallenge, PasskeyConfirmation } from "./generated";
import { Problem } from "./problem";

const REFUSED = "Your passkey did not confirm it, so nothing was done. Try again when you are ready.";

const known = (challenge: PasskeyChallenge) =>
  challenge.credentials.map((id) => ({ type: "public-key" as const, id: fromBase64Url(id) }));

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
        challenge: fromBase64Url(challenge.challenge),
        rpId: challenge.site,
        allowCredentials: known(challenge),
        userVerification: "required",
      },
    }),
  );
  const { clientDataJSON, authenticatorData, signature } = answer.response as AuthenticatorAssertionResponse;
  return {
    challenge: challenge.challenge,
    credentialId: toBase64Url(answer.rawId),
    clientData: toBase64Url(clientDataJSON),
    authenticatorData: toBase64Url(authenticatorData),
    signature: toBase64Url(signature),
  };
}

export async function makePasskey(challenge: PasskeyChallenge, name: string): Promise<NewPasskey> {
  const made = await asked(
    navigator.credentials.create({
      publicKey: {
        challenge: fromBase64Url(challenge.challenge),
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
    clientData: toBase64Url(response.clientDataJSON),
    authenticatorData: toBase64Url(response.getAuthenticatorData()),
  };
}
