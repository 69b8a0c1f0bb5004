import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { Calm } from "../ui/Calm";
import { InboxPage } from "./InboxPage";
import { LoginPage } from "./LoginPage";
import { RulesPage } from "./RulesPage";
import { SessionPage } from "./SessionPage";
import { Shell } from "./Shell";

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => <Calm>There is nothing here.</Calm>,
});

const login = createRoute({ getParentRoute: () => root, path: "/login", component: LoginPage });

/** Everything that needs a person. */
const app = createRoute({ getParentRoute: () => root, id: "app", component: Shell });

const inbox = createRoute({ getParentRoute: () => app, path: "/", component: InboxPage });

const session = createRoute({
  getParentRoute: () => app,
  path: "/sessions/$sessionId",
  validateSearch: (search: Record<string, unknown>): { ask?: string } =>
    typeof search.ask === "string" ? { ask: search.ask } : {},
  component: SessionPage,
});

const rules = createRoute({ getParentRoute: () => app, path: "/rules", component: RulesPage });

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
  routeTree: root.addChildren([login, app.addChildren([inbox, session, rules]), ...gallery, leave]),
  // Scrolling is the transcript's own business.
  scrollRestoration: false,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
