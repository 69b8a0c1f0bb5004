/** Where a phone is brought in. */
export function PairPhone() {
  return null;
}
