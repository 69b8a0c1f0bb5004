import { forget } from "../api/identity";

/** Nothing of what was shown stays on the screen. */
export async function leave(): Promise<void> {
  await forget();
  location.reload();
}
