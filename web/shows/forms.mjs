// Every shape and bound of the flat schemas that MCP's elicitation has: taken, checked, and shown in a real browser;
// what is not flat is refused by name. Usage: node shows/forms.mjs

import { isDeepStrictEqual } from "node:util";
import { check, heading, run } from "./harness.mjs";

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

let keys = 0;
const send = (gateway, path, body) =>
  fetch(gateway.url + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${gateway.token}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  }).then(async (answer) => ({ status: answer.status, body: await answer.json() }));

function ask(gateway, properties, required = []) {
  keys += 1;
  const form = { title: "Form", schema: { type: "object", properties, required } };
  return send(gateway, "/v1/interactions", { key: `form ${keys}`, kind: "form", toolName: "forms", form });
}

function respond(gateway, { request }, input) {
  keys += 1;
  const body = { promptId: request.promptId, idempotencyKey: `${keys}`, action: "submit", input };
  return send(gateway, `/v1/interactions/${request.interactionId}/respond`, body);
}

const kept = async (gateway, asked) =>
  (await gateway.call("GET", `/v1/interactions/${asked.request.interactionId}?wait=10s`)).response?.input;

/** Taken, and each value checked. */
async function byApi(gateway, [name, property, good, bad]) {
  for (const value of good) {
    const { status, body: asked } = await ask(gateway, { f: property }, ["f"]);
    if (status !== 201) return check(`${name} is taken`, false, asked.detail);
    const took = [];
    for (const wrong of bad) {
      const refused = await respond(gateway, asked, { f: wrong });
      if (refused.status !== 422 || !refused.body.fieldErrors?.f) took.push(wrong);
    }
    const taken = await respond(gateway, asked, { f: value });
    const whole = taken.status === 200 && isDeepStrictEqual(await kept(gateway, asked), { f: value });
    const words = `${name}: ${bad.length} bad values are refused beside the field, ${JSON.stringify(value)} is kept`;
    check(words, whole && took.length === 0, { took, taken: taken.body.fieldErrors });
  }
}

async function required(gateway) {
  const { body: asked } = await ask(gateway, { must: { type: "string" }, may: { type: "string" } }, ["must"]);
  const without = await respond(gateway, asked, { may: "x" });
  check("a required field is required", without.status === 422 && without.body.fieldErrors.must, without.body);
  const unknown = await respond(gateway, asked, { must: "x", other: 1 });
  check("an unknown field is refused", unknown.status === 422 && unknown.body.fieldErrors.other, unknown.body);
  check("the others may be left out", (await respond(gateway, asked, { must: "x" })).status === 200);
}

async function notFlat(gateway, [property, words]) {
  const { status, body } = await ask(gateway, { f: property });
  const clear = status === 422 && body.detail.includes(words) && body.detail.includes("`f`");
  check(`refused: ${body.detail}`, clear, { property, status });
}

/** One field as a person sees it; then filled in, unless its default stays. */
async function shownAs(field, title, [, property, good, , shown], options) {
  const wrong = [];
  const text = await field.innerText();
  for (const words of [title, shown.says ?? ""]) if (!text.includes(words)) wrong.push(`does not say ${words}`);
  const same = (what, one, other) => isDeepStrictEqual(one, other) || wrong.push(`${what} ${JSON.stringify(one)}`);
  const fill = property.default === undefined;
  const box = field.getByLabel(title, { exact: true });
  switch (shown.control) {
    case "list": {
      const choices = await field.getByRole("checkbox").all();
      const labels = choices.map((one) => one.evaluate((input) => input.closest("label").innerText.trim()));
      same("offers", await Promise.all(labels), shown.offers);
      const on = await Promise.all(choices.map((one) => one.isChecked()));
      const starts = options.filter((_, index) => on[index]);
      same("starts with", starts, shown.starts ?? []);
      if (fill) for (const value of good[0]) await choices[options.indexOf(value)].check();
      break;
    }
    case "checkbox":
      same("starts with", await field.getByRole("checkbox").isChecked(), shown.starts ?? false);
      if (fill) await field.getByRole("checkbox").setChecked(good[0]);
      break;
    case "select":
      same("offers", (await box.locator("option").allInnerTexts()).slice(1), shown.offers);
      same("starts with", await box.inputValue(), shown.starts ?? "");
      if (fill) await box.selectOption(good[0]);
      break;
    default:
      same("is a box for", await box.getAttribute("type"), shown.control);
      same("starts with", await box.inputValue(), shown.starts ?? "");
      if (fill) await box.fill(String(good[0]));
  }
  return wrong;
}

/** All of them on one card. */
async function inBrowser(gateway, page) {
  const title = (name) => `The ${name}`;
  const properties = Object.fromEntries(CASES.map(([name, property]) => [name, { ...property, title: title(name) }]));
  const { body: asked } = await ask(gateway, properties);
  await page.goto(`${gateway.url}/sessions/${asked.sessionId}`);
  const row = (name) => page.locator(`[data-field="${name}"]`);
  for (const one of CASES) {
    const [name] = one;
    const options = asked.request.form.fields.find((field) => field.id === name).options;
    const wrong = await shownAs(
      row(name),
      title(name),
      one,
      options?.map((option) => option.value),
    );
    check(`${name} is shown as it is`, wrong.length === 0, wrong);
  }
  const mail = row("email").getByRole("textbox");
  const press = () => page.getByRole("button", { name: "Send", exact: true }).click();
  await mail.fill("ana");
  await press();
  await row("email").getByText("must be an email address").waitFor();
  check("a bad address is said beside its field, and kept", (await mail.inputValue()) === "ana");
  await mail.fill("ana@example.org");
  await press();
  const expected = Object.fromEntries(CASES.map(([name, property, good]) => [name, property.default ?? good[0]]));
  const input = await kept(gateway, asked);
  check("what the browser sent is what was typed and chosen", isDeepStrictEqual(input, expected), input);
}

await run(async ({ gateway, open }) => {
  heading("Each shape, by its values");
  for (const one of CASES) await byApi(gateway, one);
  await required(gateway);
  heading("What is not flat, or cannot be kept to");
  for (const one of REFUSED) await notFlat(gateway, one);
  heading("Each shape, in a browser");
  await inBrowser(gateway, await open());
  return `${CASES.length} shapes taken, checked and shown in Chromium, ${REFUSED.length} schemas refused by name.`;
});
