import { render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, it, vi } from "vitest";
import { ask, formRequest } from "../test/asks";
import { ReceiptLine } from "./Receipt";

vi.mock("@tanstack/react-router", () => ({ Link: ({ children }: { children: ReactNode }) => <b>{children}</b> }));

const form = {
  fields: [
    { id: "release-name", label: "Version", type: "text", required: true },
    { id: "key", label: "Key", type: "secret", required: true },
    { id: "notes", label: "Notes", type: "textarea", required: false },
  ],
};
const response = {
  by: "person",
  name: "ana",
  surface: "web",
  interactionId: "int_1",
  promptId: "prm_1",
  action: "submit",
  input: { "release-name": "1.4\u202E.0", key: "[secret]", notes: null },
};
const filledIn = (completedView: object | undefined) =>
  ask(formRequest(form as never, { completedView } as never), {
    state: "settled",
    settlement: "answered",
    response,
    respondedAt: "2026-01-31T14:02:00Z",
    seq: 3,
  } as never);

it("says what was sent in the form's own words, with what is hidden shown and what is secret hidden", () => {
  render(
    <ReceiptLine
      ask={filledIn({ showInputs: false, summaryTemplate: "Release {{release-name}} with {{key}}{{x}}" })}
    />,
  );
  expect(screen.getByText(/Release 1\.4⟨U\+202E⟩\.0 with ••••\{\{x\}\}/)).toBeTruthy();
  expect(screen.queryByText("Version")).toBeNull();
});

it.each([[{ showInputs: true }], [undefined]])("lists what was sent, unless the form has words of its own", (view) => {
  render(<ReceiptLine ask={filledIn(view)} />);
  const listed = [...document.querySelectorAll("dt, dd")].map((one) => one.textContent);
  expect(listed).toEqual(["Version", "1.4⟨U+202E⟩.0", "Key", "••••"]);
});
