import assert from "node:assert/strict";
import test from "node:test";
import { answerOf, assemble, formInput, missingFields, noChoice, pick, startChoice, startValue } from "../answers.js";

const store = { id: "store", options: [{ label: "SQLite" }, { label: "PostgreSQL" }], multiSelect: false };
const checks = { id: "checks", options: [{ label: "Lint" }, { label: "Docs, guides" }], multiSelect: true };
const name = { id: "name", options: [], multiSelect: false };

test("one choice is a text, several are a list", () => {
  assert.equal(answerOf(store, pick(store, noChoice(), "SQLite")), "SQLite");
  const both = pick(checks, pick(checks, noChoice(), "Lint"), "Docs, guides");
  assert.deepEqual(answerOf(checks, { ...both, otherOn: true, other: "Fuzz" }), ["Lint", "Docs, guides", "Fuzz"]);
  assert.deepEqual(answerOf(checks, pick(checks, both, "Lint")), ["Docs, guides"]);
});

test("another answer takes the place of a single choice, and gives it back", () => {
  const other = { picked: ["SQLite"], otherOn: true, other: "files" };
  assert.equal(answerOf(store, other), "files");
  const back = pick(store, other, "PostgreSQL");
  assert.equal(answerOf(store, back), "PostgreSQL");
  assert.equal(back.other, "files");
});

test("blank is no answer", () => {
  assert.equal(answerOf(store, noChoice()), null);
  assert.equal(answerOf(store, { picked: ["SQLite"], otherOn: true, other: "  " }), null);
  assert.equal(answerOf(name, { picked: [], otherOn: true, other: " " }), null);
  assert.equal(answerOf(name, { picked: [], otherOn: true, other: "Ana" }), "Ana");
});

test("answers are sent by question, when all are there", () => {
  const choices = { store: pick(store, noChoice(), "SQLite") };
  assert.deepEqual(assemble([store, checks], choices), { answers: { store: "SQLite" }, done: 1, complete: false });
  choices.checks = pick(checks, noChoice(), "Lint");
  assert.deepEqual(assemble([store, checks], choices), { answers: { store: "SQLite", checks: ["Lint"] }, done: 2, complete: true });
});

test("what was sent before comes back on a reprompt", () => {
  assert.deepEqual(startChoice(store, "files"), { picked: [], otherOn: true, other: "files" });
  assert.deepEqual(startChoice(checks, ["Lint", "Fuzz"]), { picked: ["Lint"], otherOn: true, other: "Fuzz" });
  assert.deepEqual(startChoice(store, undefined), noChoice());
});

test("form values have the types of their fields", () => {
  const fields = [
    { id: "n", type: "number" }, { id: "bad", type: "number" }, { id: "t", type: "text", default: "stable" },
    { id: "m", type: "multiselect" }, { id: "c", type: "checkbox" },
  ];
  const values = { n: "3.5", bad: "three", t: "", m: ["a"], c: false };
  assert.deepEqual(formInput(fields, values), { n: 3.5, bad: "three", t: null, m: ["a"], c: false });
});

test("fields start with what was typed, then with their default", () => {
  assert.equal(startValue({ type: "text", default: "stable" }, "beta"), "beta");
  assert.equal(startValue({ type: "text", default: "stable" }, undefined), "stable");
  assert.equal(startValue({ type: "number", default: 0 }, undefined), "0");
  assert.equal(startValue({ type: "checkbox" }, undefined), false);
  assert.deepEqual(startValue({ type: "multiselect" }, undefined), []);
});

test("required fields with nothing in them are named", () => {
  const fields = [{ id: "a", required: true }, { id: "b", required: true }, { id: "c" }];
  assert.deepEqual(missingFields(fields, { a: " ", b: false, c: "" }), ["a"]);
});
