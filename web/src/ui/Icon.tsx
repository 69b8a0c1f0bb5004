// Sixteen by sixteen, one stroke. A mark beside words, never in their place.

const PATHS = {
  agent: "M4 3v10M4 6.5h5V11h3",
  archive: "M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 8.5h3",
  ask: "M5.3 6a2.7 2.7 0 1 1 3.9 2.4c-.8.4-1.2.9-1.2 1.7M8 12.7v.1",
  clock: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M8 5v3l2 1.5",
  down: "M4 6.5 8 10l4-3.5",
  edit: "M8 2.5v6M5 5.5h6M5 12.5h6",
  fetch: "M6 3.5H3V13h9.5v-3M9 3h4v4m0-4L7.5 8.5",
  find: "M7 3a4 4 0 1 0 0 8 4 4 0 1 0 0-8M10 10l3.5 3.5",
  form: "M2.5 3h11v4h-11zM2.5 10h6M2.5 13h9",
  gear: "M2.5 5h5m3 0h3M2.5 11h2m3 0h6M9 3.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 1 0 0-3M6 9.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 1 0 0-3",
  inbox: "M2 9.5 4 3h8l2 6.5V13H2zM2 9.5h3.5l1 1.5h3l1-1.5H14",
  laptop: "M3.5 3.5h9v7h-9zM1.5 13h13",
  left: "M10 3.5 5.5 8l4.5 4.5",
  me: "M8 3a2.5 2.5 0 1 0 0 5 2.5 2.5 0 1 0 0-5M3 13.5c.6-2.7 2.6-4.2 5-4.2s4.4 1.5 5 4.2",
  pause: "M6 3.5v9m4-9v9",
  phone: "M5 2h6v12H5zM7.3 11.8h1.4",
  plan: "m2.5 4 1 1 2-2M8 4h5.5m-11 4.5 1 1 2-2m2.5 1h5.5m-11 4.5 1 1 2-2M8 13h5.5",
  plus: "M8 3.5v9M3.5 8h9",
  read: "M4 2.5h5.5L12 5v8.5H4zM9.5 2.5V5H12",
  rules: "M3 4h10M3 8h10M3 12h6",
  sessions: "M2 3h12v10H2zM4.5 6.3 6.3 8l-1.8 1.7M8 10h3",
  shell: "M3 4.5 6.5 8 3 11.5M8 12h5",
  tick: "M3 8.5 6.5 12 13 4.5",
  token: "M6 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 1 0 0-5M8.5 8h6M12 8v2.5",
  tool: "M6 2v3m4-3v3M4 5h8v3a4 4 0 0 1-8 0zM8 12v2.5",
  x: "m4 4 8 8m0-8-8 8",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, className = "size-4" }: { name: IconName; className?: string }) {
  return (
    <svg
      viewBox="0 0 16 16"
      aria-hidden="true"
      className={`shrink-0 fill-none stroke-current stroke-[1.5] [stroke-linecap:round] [stroke-linejoin:round] ${className}`}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
