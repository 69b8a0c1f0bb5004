/** Light around the code, in its own squares: cameras need it. */
const MARGIN = 4;

/** Black on white in both themes: not every camera reads it the other way round. */
export function QrCode({ rows, label }: { rows: string[]; label: string }) {
  const side = rows.length + 2 * MARGIN;
  const squares = rows.flatMap((row, y) =>
    [...row].map((square, x) => (square === "1" ? `M${x + MARGIN} ${y + MARGIN}h1v1h-1z` : "")),
  );
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${side} ${side}`}
      shapeRendering="crispEdges"
      className="w-full max-w-64"
    >
      <rect width={side} height={side} fill="#fff" />
      <path d={squares.join("")} fill="#000" />
    </svg>
  );
}
