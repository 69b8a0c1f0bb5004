import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, it } from "vitest";
import { CallLine } from "./CallLine";
import type { ToolItem } from "./transcript";

const AT = "2026-01-31T14:02:00Z";
const call: ToolItem = {
  kind: "tool",
  toolCallId: "c1",
  name: "Bash",
  parents: ["reviewer"],
  streamed: "",
  input: { value: { command: "npm test <img src=x onerror=alert(1)>" }, at: AT },
  result: { value: "12 passed", isError: false, at: "2026-01-31T14:02:08.4Z" },
  decision: {
    by: "rules",
    told: "allowed",
    verdict: {
      effect: "allow",
      parts: [{ effect: "allow", why: "", rule: { layer: "person", text: "allow Bash(npm test:*)" } }],
    },
  },
};

function Opening() {
  const [isOpen, setOpen] = useState(false);
  return <CallLine tool={call} cwd={null} isOpen={isOpen} onToggle={() => setOpen(!isOpen)} />;
}

it("is one line with its outcome; opened it says which rule, whose, and what came out", async () => {
  const { container } = render(<Opening />);
  const line = screen.getByRole("button", { expanded: false });
  expect(line.textContent).toContain("reviewer › npm test <img src=x onerror=alert(1)>");
  expect(line.textContent).toContain("8.4 s");
  expect(line.textContent).toContain("allowed by rule");
  expect(screen.queryByText("12 passed")).toBeNull();
  await userEvent.click(line);
  expect(screen.getByText("12 passed")).toBeTruthy();
  expect(screen.getByText("allow Bash(npm test:*)")).toBeTruthy();
  expect(container.textContent).toContain("Allowed by rule (yours)");
  expect(container.querySelector("img")).toBeNull();
});
