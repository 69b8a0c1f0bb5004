// The three kinds of ask, as the scripted agent makes them and a person answers them.

const FORM = {
  title: "Release",
  fields: [
    { id: "version", label: "Version", type: "text", required: true },
    { id: "count", label: "Replicas", type: "number", integer: true, min: 1, max: 9, default: 2 },
    { id: "migrate", label: "Run migrations", type: "checkbox" },
  ],
};

export const KINDS = [
  {
    name: "question",
    script: (settings = "") =>
      `ask ${settings} Store: Where do the orders go? | SQLite: one file | PostgreSQL: for a team`,
    fill: (page) => page.getByRole("radio", { name: "SQLite" }).check(),
    type: (page) => page.getByLabel("Another answer").fill("a flat file"),
    typed: (page) => page.getByLabel("Another answer").inputValue(),
    send: "Send answer",
    settlement: "answered",
    isRight: (got) => got?.settlement === "answered" && got.response.answers[0].labels[0] === "SQLite",
    api: { action: "submit", answers: { store: "PostgreSQL" } },
    canBeLate: true,
  },
  {
    name: "approval",
    script: (settings = "") =>
      `approve ${settings} Bash {"command":"npm run build"} because no rule covers npm says Builds it`,
    fill: async () => {},
    type: async (page) => {
      await page.getByRole("button", { name: "Deny…" }).click();
      await page.getByLabel("What should it do instead?").fill("a flat file");
    },
    typed: (page) => page.getByLabel("What should it do instead?").inputValue(),
    send: "Approve once",
    settlement: "approved",
    isRight: (got) => got?.settlement === "approved" && got.input.command === "npm run build",
    api: { action: "approve", scope: "once" },
    canBeLate: false,
  },
  {
    name: "form",
    script: (settings = "") => `form ${settings} ${JSON.stringify(FORM)}`,
    fill: (page) => page.getByLabel("Version").fill("1.4.0"),
    type: (page) => page.getByLabel("Version").fill("a flat file"),
    typed: (page) => page.getByLabel("Version").inputValue(),
    send: "Send",
    settlement: "answered",
    isRight: (got) =>
      got?.settlement === "answered" && got.response.input.version === "1.4.0" && got.response.input.count === 2,
    api: { action: "submit", input: { version: "2.0.0" } },
    canBeLate: true,
  },
];
