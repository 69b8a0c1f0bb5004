// From what was typed to what is sent. What is blank is never sent as an answer.

import type { Field, Question, TextFormat } from "../api/generated";

/** What one question holds while it is being answered. */
export interface Choice {
  picked: string[];
  otherOn: boolean;
  other: string;
}

export const noChoice: Choice = { picked: [], otherOn: false, other: "" };

/** What a question starts with: on a reprompt, what was sent before. */
export function startChoice(question: Question, initial: unknown): Choice {
  const values = [initial ?? []].flat().map(String);
  const labels = (question.options ?? []).map((option) => option.label);
  const other = values.find((value) => !labels.includes(value)) ?? "";
  return { picked: values.filter((value) => labels.includes(value)), otherOn: other !== "", other };
}

/** The answer to one question, or null if there is none yet. */
export function answerOf(question: Question, choice: Choice): string | string[] | null {
  const hasOptions = (question.options ?? []).length > 0;
  const isOther = choice.otherOn || !hasOptions;
  const other = isOther && choice.other.trim() !== "" ? [choice.other] : [];
  // Other was chosen and says nothing yet.
  if (choice.otherOn && other.length === 0) return null;
  const values = question.multiSelect || !isOther ? [...choice.picked, ...other] : other;
  const [first] = values;
  if (first === undefined) return null;
  return question.multiSelect ? values : first;
}

/** One option was pressed. */
export function pick(question: Question, choice: Choice, label: string): Choice {
  if (!question.multiSelect) return { ...choice, picked: [label], otherOn: false };
  const isOn = choice.picked.includes(label);
  return { ...choice, picked: isOn ? choice.picked.filter((one) => one !== label) : [...choice.picked, label] };
}

export interface Assembled {
  answers: Record<string, string | string[]>;
  done: number;
  complete: boolean;
}

/** All answers by question id, and how many there are. */
export function assemble(questions: Question[], choices: Record<string, Choice>): Assembled {
  const answers: Assembled["answers"] = {};
  for (const question of questions) {
    const answer = answerOf(question, choices[question.id] ?? noChoice);
    if (answer !== null) answers[question.id] = answer;
  }
  const done = Object.keys(answers).length;
  return { answers, done, complete: done === questions.length };
}

/** What a field holds while it is being filled in. */
export type FieldValue = string | boolean | string[];

const isBlank = (value: FieldValue | undefined) =>
  value === undefined ||
  (typeof value === "string" && value.trim() === "") ||
  (Array.isArray(value) && value.length === 0);

/** What a field starts with. */
export function startValue(field: Field, initial: unknown): FieldValue {
  const value = initial ?? field.default;
  if (field.type === "checkbox") return value === true;
  if (field.type === "multiselect") return Array.isArray(value) ? value.map(String) : [];
  return value == null ? "" : String(value);
}

/** A form's values in their types. A field that was emptied is sent as null, so that its default does not come back. */
export function formInput(fields: Field[], values: Record<string, FieldValue>): Record<string, unknown> {
  return Object.fromEntries(
    fields.map((field) => {
      const value = values[field.id];
      if (isBlank(value)) return [field.id, null];
      // What is no number goes as it is: the server says what is wrong with it.
      if (field.type === "number") return [field.id, Number.isFinite(Number(value)) ? Number(value) : value];
      return [field.id, value];
    }),
  );
}

/** The required fields that have nothing in them. */
export const missingFields = (fields: Field[], values: Record<string, FieldValue>): string[] =>
  fields.filter((field) => field.required && isBlank(values[field.id])).map((field) => field.id);

const FORMAT: Record<TextFormat, string> = {
  email: "an email address",
  uri: "a whole link, like https://example.org/",
  "date-time": "a day and time with its zone, like 2026-01-31T09:30:00Z",
};

/** Bounds in words, so that nobody learns of them by being refused. */
export function boundsOf(field: Field): string | null {
  const between = (min: unknown, max: unknown, unit: string) => {
    if (min != null && max != null) return `${min} to ${max}${unit}`;
    if (min != null) return `at least ${min}${unit}`;
    return max != null ? `at most ${max}${unit}` : null;
  };
  switch (field.type) {
    case "text":
      return (
        [field.format ? FORMAT[field.format] : null, between(field.minLength, field.maxLength, " characters")]
          .filter(Boolean)
          .join(", ") || null
      );
    case "textarea":
      return between(field.minLength, field.maxLength, " characters");
    case "number":
      return (
        [field.integer ? "a whole number" : null, between(field.min, field.max, "")].filter(Boolean).join(", ") || null
      );
    case "multiselect":
      return between(field.minItems, field.maxItems, " of these");
    case "date":
      return between(field.min, field.max, "");
    case "select":
    case "radio":
    case "checkbox":
    case "secret":
      return null;
  }
}
