import type { RefObject } from "react";
import type { Transcript } from "../session/transcript";

interface Props {
  sessionId: string;
  askId: string | null;
  transcript: Transcript;
  composer: RefObject<HTMLTextAreaElement | null>;
}

/** The open ask of a session, above the composer. */
export function Dock(_props: Props) {
  return null;
}
