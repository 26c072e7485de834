import { createRootRoute, createRoute, createRouter, Navigate, useParams } from "@tanstack/react-router"
import { lazy } from "react"
import { AgentPage } from "./agents/AgentPage.tsx"
import { AgentsPage } from "./agents/AgentsPage.tsx"
import { LostPage } from "./shell/LostPage.tsx"
import { Shell } from "./shell/Shell.tsx"
import { BrokenPage } from "./shell/BrokenPage.tsx"

const UsagePage = lazy(() => import("./usage/UsagePage.tsx"))
const AccountPage = lazy(() => import("./account/AccountPage.tsx"))
const AdministrationPage = lazy(() => import("./administration/AdministrationPage.tsx"))

const ToChat = () => {
  const { agentId = "" } = useParams({ strict: false })
  return <Navigate to="/dashboard/agents/$agentId/$tab" params={{ agentId, tab: "chat" }} replace />
}

const root = createRootRoute({ component: Shell, notFoundComponent: LostPage, errorComponent: BrokenPage })
const agents = createRoute({ getParentRoute: () => root, path: "/dashboard/agents", component: AgentsPage })
const agent = createRoute({
  getParentRoute: () => root,
  path: "/dashboard/agents/$agentId",
  component: ToChat
})
const agentTab = createRoute({
  getParentRoute: () => root,
  path: "/dashboard/agents/$agentId/$tab",
  validateSearch: ({ conversation }: Record<string, unknown>): { readonly conversation?: string } =>
    typeof conversation === "string" ? { conversation } : {},
  component: AgentPage
})
const usage = createRoute({ getParentRoute: () => root, path: "/dashboard/usage", component: UsagePage })
const account = createRoute({ getParentRoute: () => root, path: "/dashboard/settings", component: AccountPage })
const accountSection = createRoute({
  getParentRoute: () => root,
  path: "/dashboard/settings/$section",
  component: AccountPage
})
const administration = createRoute({
  getParentRoute: () => root,
  path: "/dashboard/administration",
  component: AdministrationPage
})
const administrationSection = createRoute({
  getParentRoute: () => root,
  path: "/dashboard/administration/$section",
  component: AdministrationPage
})

export const router = createRouter({
  routeTree: root.addChildren([
    agents,
    agent,
    agentTab,
    usage,
    account,
    accountSection,
    administration,
    administrationSection
  ]),
  defaultPreload: "intent",
  scrollRestoration: true
})

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}
