import { dropToken } from "../api/token";

/** Nothing of what was shown stays on the screen. */
export function leave(): void {
  dropToken();
  location.reload();
}
