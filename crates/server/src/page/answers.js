// From what was typed to what is sent. No DOM here. What is blank is never sent as an answer.

/** @typedef {{picked: string[], otherOn: boolean, other: string}} Choice what one question holds while it is being answered */

/** @returns {Choice} */
export const noChoice = () => ({ picked: [], otherOn: false, other: "" });

/** What the question starts with: on a reprompt, what was sent before. @returns {Choice} */
export function startChoice(question, initial) {
  const values = [initial ?? []].flat().map(String);
  const labels = question.options.map((option) => option.label);
  const other = values.find((value) => !labels.includes(value)) ?? "";
  return { picked: values.filter((value) => labels.includes(value)), otherOn: other !== "", other };
}

/** The answer to one question, or null if there is none yet. */
export function answerOf(question, choice) {
  const other = choice.otherOn && choice.other.trim() !== "" ? [choice.other] : [];
  if (choice.otherOn && other.length === 0 && question.options.length > 0) return null;
  const values = question.multiSelect || !choice.otherOn ? [...choice.picked, ...other] : other;
  if (values.length === 0) return null;
  return question.multiSelect ? values : values[0];
}

/** One option was pressed. */
export function pick(question, choice, label) {
  if (!question.multiSelect) return { ...choice, picked: [label], otherOn: false };
  const on = choice.picked.includes(label);
  return { ...choice, picked: on ? choice.picked.filter((one) => one !== label) : [...choice.picked, label] };
}

/** All answers by question id, and how many there are. */
export function assemble(questions, choices) {
  const given = questions
    .map((question) => [question.id, answerOf(question, choices[question.id] ?? noChoice())])
    .filter(([, answer]) => answer !== null);
  return { answers: Object.fromEntries(given), done: given.length, complete: given.length === questions.length };
}

const isBlank = (value) =>
  value == null || (typeof value === "string" && value.trim() === "") || (Array.isArray(value) && value.length === 0);

/** What a field starts with. */
export function startValue(field, initial) {
  const value = initial ?? field.default;
  if (field.type === "checkbox") return value === true;
  if (field.type === "multiselect") return Array.isArray(value) ? value : [];
  return value == null ? "" : String(value);
}

/** A form's values in their types. A field that was emptied is sent as null, so that its default does not come back. */
export function formInput(fields, values) {
  return Object.fromEntries(fields.map((field) => {
    const value = values[field.id];
    if (isBlank(value)) return [field.id, null];
    // What is no number goes as it is: the server says what is wrong with it.
    if (field.type === "number") return [field.id, Number.isFinite(Number(value)) ? Number(value) : value];
    return [field.id, value];
  }));
}

/** The required fields that have nothing in them. */
export const missingFields = (fields, values) =>
  fields.filter((field) => field.required && isBlank(values[field.id])).map((field) => field.id);
