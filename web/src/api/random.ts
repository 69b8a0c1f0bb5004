/** A name that nobody else has. `crypto.randomUUID` is missing where a phone opens the page over plain http. */
export function randomName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
