import { Payload } from "./Payload";
import { Shown } from "./Shown";
import { LONGEST_LINE } from "./visible";

/** Somebody's words, whole. What is longer than anybody reads is laid out as machine text is: piece by piece. */
export function Prose({ text }: { text: string }) {
  return text.length > LONGEST_LINE ? <Payload text={text} className="font-normal" /> : <Shown text={text} />;
}
