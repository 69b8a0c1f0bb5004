// Every shape and bound of the flat schemas that MCP's elicitation has: taken, checked, and shown in a real browser;
// what is not flat is refused by name. Usage: node shows/forms.mjs

import { isDeepStrictEqual } from "node:util";
import { launch } from "../scripts/browser.mjs";
import { Gateway } from "../scripts/gateway.mjs";

const titled = [
  { const: "r", title: "Red" },
  { const: "g", title: "Green" },
  { const: "b", title: "Blue" },
];
const many = { minItems: 1, maxItems: 2 };

// name, property, values that fit, values that do not, and how a screen shows it: the control, what is offered, the
// bounds in words.
const CASES = [
  ["text", { type: "string" }, ["x"], [1, true, ["x"]], { control: "text" }],
  [
    "length",
    { type: "string", minLength: 2, maxLength: 4 },
    ["ab", "abcd"],
    ["a", "abcde"],
    { control: "text", says: "2 to 4 characters" },
  ],
  ["described", { type: "string", description: "Two words" }, ["x y"], [null], { control: "text", says: "Two words" }],
  [
    "email",
    { type: "string", format: "email" },
    ["ana@example.org"],
    ["ana", "ana@", "a b@example.org"],
    { control: "text", says: "an email address" },
  ],
  [
    "uri",
    { type: "string", format: "uri" },
    ["https://example.org/x?y=1", "urn:isbn:1"],
    ["example.org", "https://a b"],
    { control: "text", says: "a whole link" },
  ],
  ["date", { type: "string", format: "date" }, ["2026-01-31"], ["31.1.2026", "2026-02-30"], { control: "date" }],
  [
    "moment",
    { type: "string", format: "date-time" },
    ["2026-01-31T09:30:00Z", "2026-01-31T09:30:00+02:00"],
    ["2026-01-31", "2026-01-31 09:30"],
    { control: "text", says: "a day and time" },
  ],
  ["number", { type: "number" }, [1.5, -2, 0], ["x"], { control: "text" }],
  [
    "number bounds",
    { type: "number", minimum: 0.5, maximum: 2 },
    [0.5, 2],
    [0.4, 2.1],
    { control: "text", says: "0.5 to 2" },
  ],
  [
    "integer",
    { type: "integer", minimum: 1, maximum: 9 },
    [1, 9],
    [0, 10, 1.5],
    { control: "text", says: "a whole number, 1 to 9" },
  ],
  ["boolean", { type: "boolean" }, [true, false], ["true", 1], { control: "checkbox" }],
  [
    "enum",
    { type: "string", enum: ["s", "m", "l"] },
    ["s", "l"],
    ["S", "xl", ["s"]],
    { control: "select", offers: ["s", "m", "l"] },
  ],
  [
    "enumNames",
    { type: "string", enum: ["s", "m"], enumNames: ["Small", "Medium"] },
    ["m"],
    ["Medium"],
    { control: "select", offers: ["Small", "Medium"] },
  ],
  [
    "oneOf",
    { type: "string", oneOf: titled },
    ["g"],
    ["Green"],
    { control: "select", offers: ["Red", "Green", "Blue"] },
  ],
  [
    "several",
    { type: "array", items: { type: "string", enum: ["x", "y", "z"] }, ...many },
    [["x"], ["x", "z"]],
    [["x", "y", "z"], ["w"], "x", ["x", "x"]],
    { control: "list", offers: ["x", "y", "z"], says: "1 to 2 of these" },
  ],
  [
    "several anyOf",
    { type: "array", items: { anyOf: titled }, minItems: 2 },
    [["r", "b"]],
    [["r"], ["Red", "Blue"]],
    { control: "list", offers: ["Red", "Green", "Blue"], says: "at least 2 of these" },
  ],
  ["default text", { type: "string", default: "stable" }, ["beta"], [1], { control: "text", starts: "stable" }],
  ["default number", { type: "integer", default: 3 }, [4], [0.5], { control: "text", starts: "3" }],
  ["default boolean", { type: "boolean", default: true }, [false], ["no"], { control: "checkbox", starts: true }],
  [
    "default enum",
    { type: "string", enum: ["a", "b"], default: "b" },
    ["a"],
    ["c"],
    { control: "select", offers: ["a", "b"], starts: "b" },
  ],
  [
    "default several",
    { type: "array", items: { type: "string", enum: ["a", "b"] }, default: ["b"] },
    [["a"]],
    [["c"]],
    { control: "list", offers: ["a", "b"], starts: ["b"] },
  ],
];

// Each refused with words that name the field and what is wrong with it.
const REFUSED = [
  [{ type: "object", properties: { street: { type: "string" } } }, "a form is flat"],
  [{ type: "array", items: { type: "object", properties: {} } }, "a form offers choices"],
  [{ type: "array", items: { type: "array", items: { type: "string", enum: ["a"] } } }, "a form offers choices"],
  [{ type: "array", items: { type: "string" } }, "a form offers choices"],
  [{ $ref: "#/$defs/address" }, "must have one `type`"],
  [{ type: ["string", "null"] }, "must have one `type`"],
  [{ type: "string", pattern: "^a" }, "`pattern`"],
  [{ type: "string", format: "ipv4" }, "`ipv4`"],
  [{ type: "string", enum: ["a", "b"], enumNames: ["A"] }, "`enumNames`"],
  [{ type: "string", enum: ["a"], default: "b" }, "default"],
  [{ type: "integer", minimum: 2, maximum: 1 }, "no value"],
  [{ allOf: [{ type: "string" }] }, "must have one `type`"],
];

const failures = [];
let checks = 0;
function check(holds, words) {
  checks += 1;
  if (!holds) failures.push(words);
}

const gateway = await new Gateway().start();
let keys = 0;
async function ask(properties, required = []) {
  keys += 1;
  const form = { title: "Form", schema: { type: "object", properties, required } };
  return send("/v1/interactions", { key: `form ${keys}`, kind: "form", toolName: "forms", form });
}

async function send(path, body) {
  const headers = { Authorization: `Bearer ${gateway.token}`, "Content-Type": "application/json" };
  const answer = await fetch(gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}

function respond({ request }, input) {
  keys += 1;
  const body = { promptId: request.promptId, idempotencyKey: `${keys}`, action: "submit", input };
  return send(`/v1/interactions/${request.interactionId}/respond`, body);
}

/** Taken, and each value checked. */
async function byApi([name, property, good, bad]) {
  for (const value of good) {
    const asked = await ask({ f: property }, ["f"]);
    check(asked.status === 201, `${name}: the ask got ${asked.status} ${asked.body.detail}`);
    if (asked.status !== 201) return;
    for (const wrong of bad) {
      const refused = await respond(asked.body, { f: wrong });
      const where = refused.body.fieldErrors?.f;
      check(refused.status === 422 && where, `${name}: took ${JSON.stringify(wrong)} (${refused.status})`);
    }
    const taken = await respond(asked.body, { f: value });
    check(taken.status === 200, `${name}: refused ${JSON.stringify(value)}: ${JSON.stringify(taken.body.fieldErrors)}`);
    const { response } = await gateway.call("GET", `/v1/interactions/${asked.body.request.interactionId}`);
    check(isDeepStrictEqual(response?.input, { f: value }), `${name}: kept ${JSON.stringify(response?.input)}`);
  }
}

async function required() {
  const asked = await ask({ must: { type: "string" }, may: { type: "string" } }, ["must"]);
  const refused = await respond(asked.body, { may: "x" });
  check(refused.status === 422 && refused.body.fieldErrors.must, `required: ${JSON.stringify(refused.body)}`);
  const unknown = await respond(asked.body, { must: "x", other: 1 });
  check(unknown.status === 422 && unknown.body.fieldErrors.other, `unknown: ${JSON.stringify(unknown.body)}`);
  check((await respond(asked.body, { must: "x" })).status === 200, "required: the whole form was refused");
}

async function nested() {
  for (const [property, words] of REFUSED) {
    const { status, body } = await ask({ f: property });
    const clear = body.detail?.includes(words) && body.detail.includes("`f`");
    check(status === 422 && clear, `${JSON.stringify(property)}: ${status} ${body.detail}`);
  }
}

/** All of them on one card, as a person sees it. */
async function inBrowser() {
  const title = (name) => `The ${name}`;
  const properties = Object.fromEntries(CASES.map(([name, property]) => [name, { ...property, title: title(name) }]));
  const { body: asked } = await ask(properties);
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.goto(await gateway.newLink());
    await page.waitForURL((url) => !url.pathname.startsWith("/login"));
    await page.goto(`${gateway.url}/sessions/${asked.sessionId}`);
    const row = (name) => page.locator(`[data-field="${name}"]`);
    await row(CASES[0][0]).waitFor();
    for (const [name, , good, , shown] of CASES) {
      const field = row(name);
      check((await field.innerText()).includes(title(name)), `${name}: its title is not shown`);
      if (shown.says) check((await field.innerText()).includes(shown.says), `${name}: does not say ${shown.says}`);
      const box = field.getByLabel(title(name), { exact: true });
      const start = good[0];
      if (shown.control === "list") {
        const choices = await field.getByRole("checkbox").all();
        const offered = await Promise.all(
          choices.map((one) => one.evaluate((input) => input.closest("label").innerText.trim())),
        );
        check(isDeepStrictEqual(offered, shown.offers), `${name}: offers ${offered}`);
        const values = (
          await gateway.call("GET", `/v1/interactions/${asked.request.interactionId}`)
        ).request.form.fields
          .find((one) => one.id === name)
          .options.map((option) => option.value);
        const on = await Promise.all(choices.map((one) => one.isChecked()));
        check(
          isDeepStrictEqual(
            values.filter((_, index) => on[index]),
            shown.starts ?? [],
          ),
          `${name}: starts otherwise`,
        );
        if (!shown.starts) for (const value of start) await choices[values.indexOf(value)].check();
      } else if (shown.control === "checkbox") {
        const [input] = await field.getByRole("checkbox").all();
        check(input && (await input.isChecked()) === (shown.starts ?? false), `${name}: starts otherwise`);
        if (shown.starts === undefined) await input.setChecked(start);
      } else if (shown.control === "select") {
        const offered = (await box.locator("option").allInnerTexts()).slice(1);
        check(isDeepStrictEqual(offered, shown.offers), `${name}: offers ${offered}`);
        check((await box.inputValue()) === (shown.starts ?? ""), `${name}: starts with ${await box.inputValue()}`);
        if (shown.starts === undefined) await box.selectOption(start);
      } else {
        check((await box.getAttribute("type")) === shown.control, `${name}: is no ${shown.control} box`);
        check((await box.inputValue()) === (shown.starts ?? ""), `${name}: starts with ${await box.inputValue()}`);
        if (shown.starts === undefined) await box.fill(String(start));
      }
    }
    // One wrong value: said beside its field, and what was typed is kept.
    const mail = row("email").getByRole("textbox");
    await mail.fill("ana");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await row("email").getByText("must be an email address", { exact: false }).waitFor();
    check((await mail.inputValue()) === "ana", "what was typed is gone");
    await mail.fill("ana@example.org");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.waitForTimeout(300);
    const settled = await gateway.call("GET", `/v1/interactions/${asked.request.interactionId}?wait=10s`);
    const expected = Object.fromEntries(CASES.map(([name, property, good]) => [name, property.default ?? good[0]]));
    check(
      isDeepStrictEqual(settled.response?.input, expected),
      `the browser sent ${JSON.stringify(settled.response?.input)}, not ${JSON.stringify(expected)}`,
    );
  } finally {
    await browser.close();
  }
}

try {
  for (const one of CASES) await byApi(one);
  await required();
  await nested();
  await inBrowser();
} finally {
  await gateway.stop();
}
for (const failure of failures) console.log(failure);
console.log(`shapes: ${CASES.length}, each taken, checked with good and bad values, and shown in Chromium`);
console.log(`schemas that are not flat, refused by name: ${REFUSED.length}`);
console.log(`checks that held: ${checks - failures.length} of ${checks}`);
process.exit(failures.length > 0 ? 1 : 0);
