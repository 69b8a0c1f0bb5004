import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";
import { forgetMemory } from "../session/drafts";

afterEach(() => {
  cleanup();
  localStorage.clear();
  forgetMemory();
});
