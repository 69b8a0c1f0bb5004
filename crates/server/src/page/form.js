// Fill this in. Every kind of field, with what is wrong beside it and what was typed kept.

import { formInput, missingFields, startValue } from "./answers.js";
import { el, freshId, prose } from "./dom.js";
import { refusal } from "./refuse.js";

/** @param {import("./card.js").Desk} desk */
export function form(desk) {
  const { request } = desk;
  const { fields } = request.form;
  const values = (desk.draft.values ??= {});
  for (const field of fields) values[field.id] ??= startValue(field, request.initialValues?.[field.id]);
  const secrets = new Set(fields.filter((field) => field.type === "secret").map((field) => field.id));
  const keep = () => desk.keep((key, value) => (secrets.has(key) ? undefined : value));

  const rows = new Map(fields.map((field) => [field.id, fieldRow(field, values[field.id], (value) => {
    values[field.id] = value;
    rows.get(field.id).error("");
    keep();
  })]));
  const errors = (byField, kept = true) => {
    fields.forEach((field) => rows.get(field.id).error(byField[field.id] ? `${byField[field.id]}.${kept ? " Your text is kept." : ""}` : ""));
    fields.map((field) => rows.get(field.id)).find((row, index) => byField[fields[index].id])?.focus();
  };
  const send = () => {
    const missing = missingFields(fields, values);
    if (missing.length > 0) return errors(Object.fromEntries(missing.map((id) => [id, "is required"])), false);
    desk.send({ action: "submit", input: formInput(fields, values) });
  };
  const refuse = refusal(desk, {
    word: "Decline", question: "Why not? The agent reads this word for word.",
    response: (reason) => ({ action: "cancel", reason }),
  });
  for (const [id, words] of Object.entries(request.fieldErrors ?? {})) rows.get(id)?.error(`${words}. Your text is kept.`);
  return {
    body: [fields.map((field) => rows.get(field.id).node)],
    actions: [el("button", { class: "solid decide", onclick: send }, desk.late ? "Send as a message" : "Send"), !desk.late && refuse.button],
    keys: { d: refuse.open },
    send,
    errors,
  };
}

function fieldRow(field, value, set) {
  const id = freshId();
  const error = el("p", { class: "field-error", id: `${id}e` });
  const control = CONTROLS[field.type]?.(field, value, set, id) ?? CONTROLS.text(field, value, set, id);
  const first = control.matches("input, select, textarea") ? control : control.querySelector("input");
  first.setAttribute("aria-describedby", `${id}d ${id}e`);
  const name = [...prose(field.label), field.required && el("span", { class: "required" }, " required")].filter(Boolean);
  const about = field.description && el("p", { class: "description", id: `${id}d` }, ...prose(field.description));
  const group = ["radio", "multiselect"].includes(field.type);
  const label = field.type === "checkbox"
    ? el("label", { class: "option", for: id }, control, el("span", { class: "label" }, ...name))
    : group ? el("legend", { class: "label" }, ...name) : el("label", { class: "label", for: id }, ...name);
  const node = el(group ? "fieldset" : "div", { class: "field" }, label, about, field.type !== "checkbox" && control, error);
  return {
    node,
    focus: () => first.focus(),
    error: (words) => {
      error.textContent = words ? words[0].toUpperCase() + words.slice(1) : "";
      node.classList.toggle("wrong", words !== "");
    },
  };
}

const box = (props) => (field, value, set, id) => {
  const input = el(props.tag ?? "input", { id, value, required: field.required, ...props.extra?.(field), oninput: () => set(input.value) });
  return input;
};

const list = (type) => (field, value, set) => {
  const name = freshId();
  const chosen = new Set([value].flat());
  return el("div", {}, field.options.map((option) => {
    const input = el("input", { type, name, checked: chosen.has(option.value), onchange: () => {
      if (type === "radio") chosen.clear();
      if (input.checked) chosen.add(option.value);
      else chosen.delete(option.value);
      set(type === "radio" ? option.value : field.options.map((one) => one.value).filter((one) => chosen.has(one)));
    } });
    return el("label", { class: "option" }, input, el("span", { class: "label" }, ...prose(option.label)));
  }));
};

// Bounds are hints for the keyboard and the picker; the server is the one that checks them.
const CONTROLS = {
  text: box({ extra: (field) => ({ type: "text", inputMode: { email: "email", uri: "url" }[field.format] ?? "text", autocomplete: "off" }) }),
  textarea: box({ tag: "textarea", extra: () => ({ rows: 4 }) }),
  number: box({ extra: (field) => ({ type: "text", inputMode: field.integer ? "numeric" : "decimal", autocomplete: "off" }) }),
  date: box({ extra: (field) => ({ type: "date", min: field.min ?? "", max: field.max ?? "" }) }),
  secret: box({ extra: () => ({ type: "password", autocomplete: "new-password" }) }),
  select: (field, value, set, id) => {
    const select = el("select", { id, required: field.required, onchange: () => set(select.value) },
      el("option", { value: "" }, "Choose…"), field.options.map((option) => el("option", { value: option.value }, ...prose(option.label).map((node) => node.textContent ?? node))));
    select.value = value;
    return select;
  },
  multiselect: list("checkbox"),
  radio: list("radio"),
  checkbox: (_field, value, set, id) => {
    const input = el("input", { id, type: "checkbox", checked: value, onchange: () => set(input.checked) });
    return input;
  },
};
