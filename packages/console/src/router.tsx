import { createRootRoute, createRoute, createRouter, Navigate, useParams } from "@tanstack/react-router"
import { AgentPage } from "./agents/AgentPage.tsx"
import { AgentsPage } from "./agents/AgentsPage.tsx"
import { lazyPart } from "./lazyPart.ts"
import { LostPage } from "./shell/LostPage.tsx"
import { Shell } from "./shell/Shell.tsx"
import { BrokenPage } from "./shell/BrokenPage.tsx"
import { Notices } from "./home/Notices.tsx"
import { HomePage } from "./home/HomePage.tsx"

const OnboardingPage = lazyPart(() => import("./home/OnboardingPage.tsx"))
const FilesPage = lazyPart(() => import("./usage/FilesPage.tsx"))
const PlansPage = lazyPart(() => import("./usage/PlansPage.tsx"))
const UsagePage = lazyPart(() => import("./usage/UsagePage.tsx"))
const AccountPage = lazyPart(() => import("./account/AccountPage.tsx"))
const AdministrationPage = lazyPart(() => import("./administration/AdministrationPage.tsx"))

const ToChat = () => {
  const { agentId = "" } = useParams({ strict: false })
  return <Navigate to="/dashboard/agents/$agentId/$tab" params={{ agentId, tab: "chat" }} replace />
}

const root = createRootRoute({ component: Shell, notFoundComponent: () => <LostPage />, errorComponent: BrokenPage })
const noticed = createRoute({ getParentRoute: () => root, id: "noticed", component: Notices })
const home = createRoute({
  getParentRoute: () => noticed,
  path: "/dashboard",
  validateSearch: ({ agent }: Record<string, unknown>): { readonly agent?: string } =>
    typeof agent === "string" ? { agent } : {},
  component: HomePage
})
const onboarding = createRoute({ getParentRoute: () => noticed, path: "/onboarding", component: OnboardingPage })
const files = createRoute({ getParentRoute: () => noticed, path: "/dashboard/files", component: FilesPage })
const plans = createRoute({ getParentRoute: () => noticed, path: "/dashboard/plans", component: PlansPage })
const agents = createRoute({ getParentRoute: () => noticed, path: "/dashboard/agents", component: AgentsPage })
const agent = createRoute({
  getParentRoute: () => noticed,
  path: "/dashboard/agents/$agentId",
  component: ToChat
})
const agentTab = createRoute({
  getParentRoute: () => noticed,
  path: "/dashboard/agents/$agentId/$tab",
  validateSearch: ({ conversation }: Record<string, unknown>): { readonly conversation?: string } =>
    typeof conversation === "string" ? { conversation } : {},
  component: AgentPage
})
const usage = createRoute({ getParentRoute: () => noticed, path: "/dashboard/usage", component: UsagePage })
const account = createRoute({ getParentRoute: () => noticed, path: "/dashboard/settings", component: AccountPage })
const accountSection = createRoute({
  getParentRoute: () => noticed,
  path: "/dashboard/settings/$section",
  component: AccountPage
})
const administration = createRoute({
  getParentRoute: () => noticed,
  path: "/dashboard/administration",
  component: AdministrationPage
})
const administrationSection = createRoute({
  getParentRoute: () => noticed,
  path: "/dashboard/administration/$section",
  component: AdministrationPage
})

export const router = createRouter({
  routeTree: root.addChildren([
    noticed.addChildren([
      home,
      onboarding,
      files,
      plans,
      agents,
      agent,
      agentTab,
      usage,
      account,
      accountSection,
      administration,
      administrationSection
    ])
  ]),
  defaultPreload: "intent",
  scrollRestoration: true
})

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}
