import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { router } from "./routes/router";
import { forgetOldDrafts } from "./session/drafts";
import { wearTheme } from "./session/theme";
import { keepShell } from "./shell";
import "./style.css";
import { Boundary } from "./ui/Boundary";
import { Button } from "./ui/Button";
import { Calm } from "./ui/Calm";

forgetOldDrafts(Date.now());
wearTheme();
keepShell();
const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, networkMode: "always" }, mutations: { networkMode: "always" } },
});
const root = document.getElementById("app");
if (!root) throw new Error("The page has no place for the app.");

createRoot(root).render(
  <StrictMode>
    <Boundary
      fallback={(reason, again) => (
        <Calm>
          <p>Something on this page broke: {reason}</p>
          <p className="mb-4">Nothing was decided by that, and asks stay open.</p>
          <Button onClick={again}>Try again</Button>
        </Calm>
      )}
    >
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </Boundary>
  </StrictMode>,
);
