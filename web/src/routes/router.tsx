import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { reasonOf } from "../api/problem";
import { brief } from "../text/visible";
import { Button } from "../ui/Button";
import { Calm } from "../ui/Calm";
import { DecidedPage } from "./DecidedPage";
import { InboxPage } from "./InboxPage";
import { LoginPage } from "./LoginPage";
import { RulesPage } from "./RulesPage";
import { SessionPage } from "./SessionPage";
import { SessionsPage } from "./SessionsPage";
import { Shell } from "./Shell";
import { YouPage } from "./YouPage";

/** A page that broke: the others are one press away. */
function Broken({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <Calm>
      <p>Something on this page broke: {brief(reasonOf(error))}</p>
      <p className="mb-4">Nothing was decided by that, and asks stay open.</p>
      <Button onClick={reset}>Try again</Button>
    </Calm>
  );
}

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => (
    <Calm>
      There is nothing here.{" "}
      <Link to="/" className="underline">
        To the inbox
      </Link>
    </Calm>
  ),
});

const login = createRoute({ getParentRoute: () => root, path: "/login", component: LoginPage });

/** Everything that needs a person. */
const app = createRoute({ getParentRoute: () => root, id: "app", component: Shell });

/** The ask that is selected. */
const selection = (search: Record<string, unknown>): { ask?: string } =>
  typeof search.ask === "string" ? { ask: search.ask } : {};

const inbox = createRoute({
  getParentRoute: () => app,
  path: "/",
  // Wide: the card has the whole screen.
  validateSearch: (search: Record<string, unknown>): { ask?: string; wide?: true } => ({
    ...selection(search),
    ...(search.wide === true && { wide: true as const }),
  }),
  component: InboxPage,
});

const sessions = createRoute({ getParentRoute: () => app, path: "/sessions", component: SessionsPage });

const session = createRoute({
  getParentRoute: () => app,
  path: "/sessions/$sessionId",
  validateSearch: selection,
  component: SessionPage,
});

const decided = createRoute({ getParentRoute: () => app, path: "/decided", component: DecidedPage });

const rules = createRoute({ getParentRoute: () => app, path: "/rules", component: RulesPage });

const you = createRoute({ getParentRoute: () => app, path: "/you", component: YouPage });

/** Every card in every state; not part of what is released. */
const gallery = import.meta.env.DEV
  ? [
      createRoute({
        getParentRoute: () => root,
        path: "/gallery",
        component: lazyRouteComponent(() => import("../gallery/Gallery"), "Gallery"),
      }),
    ]
  : [];

const leave = createRoute({
  getParentRoute: () => root,
  path: "$",
  beforeLoad: () => {
    throw redirect({ to: "/" });
  },
});

export const router = createRouter({
  routeTree: root.addChildren([
    login,
    app.addChildren([inbox, sessions, session, decided, rules, you]),
    ...gallery,
    leave,
  ]),
  defaultErrorComponent: Broken,
  // Scrolling is the transcript's own business.
  scrollRestoration: false,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
