// Which of these? Options with their descriptions, room for another answer, nothing chosen beforehand.

import { assemble, answerOf, pick, startChoice } from "./answers.js";
import { el, freshId, payload, prose } from "./dom.js";
import { refusal } from "./refuse.js";

/** @param {import("./card.js").Desk} desk */
export function question(desk) {
  const { request } = desk;
  const { questions } = request;
  const choices = (desk.draft.choices ??= {});
  for (const q of questions) choices[q.id] ??= startChoice(q, request.initialValues?.[q.id]);
  const secrets = new Set(questions.filter((q) => q.secret).map((q) => q.id));
  const keep = () => desk.keep((key, value) => (secrets.has(key) ? undefined : value));

  const blocks = questions.map((q, index) => questionBlock(q, index, questions.length, choices, changed));
  const chips = questions.length > 1 && el("nav", { class: "chips", "aria-label": "Questions" }, questions.map((q, index) =>
    el("button", { class: "chip", onclick: () => { blocks[index].node.scrollIntoView({ block: "start" }); blocks[index].focus(); } })));
  const submit = el("button", { class: "solid decide", onclick: send });
  const progress = el("span", { class: "soft", role: "status" });
  const refuse = refusal(desk, {
    word: "Decline", question: "Why not? The agent reads this word for word.",
    response: (reason) => ({ action: "cancel", reason }),
  });

  function changed() {
    keep();
    show();
  }
  function show() {
    const { done, complete } = assemble(questions, choices);
    blocks.forEach((block) => block.show());
    if (chips) {
      questions.forEach((q, index) => {
        const isDone = answerOf(q, choices[q.id]) !== null;
        chips.children[index].replaceChildren(...prose(q.header), isDone ? " ✓" : "");
      });
    }
    submit.disabled = !complete;
    submit.textContent = desk.late ? "Send as a message" : questions.length === 1 ? "Send answer" : `Send ${questions.length} answers`;
    progress.textContent = complete || questions.length === 1 ? "" : `${done} of ${questions.length} answered`;
  }
  function send() {
    const { answers, complete } = assemble(questions, choices);
    if (complete) desk.send({ action: "submit", answers });
  }
  let last = -1;
  /** A digit picks in the question that has the focus, or else in the first without an answer; a list takes several. */
  function digit(number) {
    const open = questions.findIndex((q) => answerOf(q, choices[q.id]) === null);
    const inside = blocks.findIndex((block) => block.node.contains(document.activeElement));
    const at = inside >= 0 ? inside : questions[last]?.multiSelect || open < 0 ? last : open;
    last = at;
    const option = questions[at]?.options[number - 1];
    if (!option) return;
    choices[questions[at].id] = pick(questions[at], choices[questions[at].id], option.label);
    changed();
  }

  show();
  blocks.forEach((block, index) => block.error(request.fieldErrors?.[questions[index].id]));
  return {
    body: [chips, blocks.map((block) => block.node)],
    actions: [submit, progress, !desk.late && refuse.button],
    keys: { d: refuse.open },
    digit,
    send,
    errors: (errors) => blocks.forEach((block, index) => block.error(errors[questions[index].id])),
  };
}

function questionBlock(q, index, total, choices, changed) {
  const name = freshId();
  const set = (choice) => { choices[q.id] = choice; changed(); };
  const type = q.multiSelect ? "checkbox" : "radio";
  const inputs = q.options.map((option) =>
    el("input", { type, name, onchange: () => set(pick(q, choices[q.id], option.label)) }));
  const options = q.options.map((option, at) => el("label", { class: "option" }, inputs[at],
    el("span", { class: "number", "aria-hidden": "true" }, `${at + 1}`),
    el("span", {}, el("span", { class: "label" }, ...prose(option.label)),
      option.description && el("span", { class: "description" }, ...prose(option.description)),
      option.preview && payload(option.preview))));
  const hasOptions = q.options.length > 0;
  const text = el("input", {
    type: q.secret ? "password" : "text", autocomplete: q.secret ? "new-password" : "off", value: choices[q.id].other,
    "aria-label": hasOptions ? `Another answer to: ${q.question}` : q.question,
    oninput: () => set({ ...choices[q.id], other: text.value, otherOn: text.value !== "" || (q.multiSelect === false && choices[q.id].otherOn) }),
  });
  const otherOn = el("input", { type, name, "aria-label": "Other", onchange: () => {
    set({ ...choices[q.id], otherOn: otherOn.checked });
    if (otherOn.checked) text.focus();
  } });
  const other = (q.allowOther || !hasOptions) && (hasOptions
    ? el("div", { class: "option other" }, otherOn, el("span", { class: "number" }, "Other:"), text)
    : el("div", { class: "option other" }, text));
  const error = el("p", { class: "field-error" });
  const legend = total > 1 && [el("span", { class: "number" }, `${index + 1}`), ...prose(q.question)];
  const node = el("fieldset", { class: "question", "aria-label": q.question },
    legend && el("legend", {}, ...legend),
    q.multiSelect && el("p", { class: "soft" }, "Choose one or more."), options, other, error);
  return {
    node,
    focus: () => (inputs[0] ?? text).focus(),
    error: (words) => { error.textContent = words ? `This answer ${words}. Your text is kept.` : ""; },
    show: () => {
      const choice = choices[q.id];
      const single = !q.multiSelect;
      inputs.forEach((input, at) => { input.checked = choice.picked.includes(q.options[at].label) && !(single && choice.otherOn); });
      otherOn.checked = choice.otherOn;
      options.forEach((option, at) => option.classList.toggle("on", inputs[at].checked));
    },
  };
}
