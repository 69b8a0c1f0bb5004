import { describe, expect, it } from "vitest";
import { session } from "../test/desk";
import { namesApart } from "./words";

describe("sessions of one name", () => {
  it("are told apart by the ends of their ids, and others keep their names", () => {
    const named = (sessionId: string, title: string) => ({ ...session(), sessionId, title });
    const sessions = [named("ses_1aaaa", "shop-api"), named("ses_2bbbb", "shop-api"), named("ses_3cccc", "docs")];
    expect([...namesApart(sessions).values()]).toEqual(["shop-api · aaaa", "shop-api · bbbb", "docs"]);
  });
});
