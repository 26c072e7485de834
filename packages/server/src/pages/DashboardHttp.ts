import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import { AgentInstances } from "@berth/domain/agents/AgentInstances"
import { Agents } from "@berth/domain/agents/Agents"
import { StorageEntitlements } from "@berth/domain/billing/storage/StorageEntitlements"
import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { ClaimNotices } from "@berth/domain/recovery/claims/ClaimNotices"
import { Wallets } from "@berth/domain/signin/wallets/Wallets"
import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { Array, Effect, Option } from "effect"
import { makeInstanceUrl } from "../agents/AgentUrls.ts"
import { makeModelWarning } from "../agents/ModelWarning.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { renderDashboardPage } from "./DashboardPage.ts"
import { makeEmailNotice } from "./EmailNotice.ts"
import { renderFilesPage } from "./FilesPage.ts"
import { makePageResponse, PageSettings } from "./Layout.ts"
import { renderOnboardingPage } from "./OnboardingPage.ts"
import { PageAssets } from "./PageAssets.ts"
import { pagePaths } from "./PagePaths.ts"
import { makeSignedInPages } from "./SignedInPages.ts"

/** `/dashboard`, `/dashboard/files` and `/onboarding`. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { agentsDomain, appUrl } = yield* WebSettings
    const instances = yield* AgentInstances
    const assets = yield* PageAssets
    const agents = yield* Agents
    const allowances = yield* Allowances
    const claims = yield* ClaimNotices
    const storage = yield* StorageEntitlements
    const wallets = yield* Wallets
    const { models } = yield* AgentSettings
    const { repliesFromSandbox } = yield* PageSettings
    const form = { models, repliesFromSandbox }
    const signedIn = yield* makeSignedInPages
    const warnOfModel = yield* makeModelWarning
    const renderEmailNotice = yield* makeEmailNotice

    const dashboard = signedIn((user, query) =>
      Effect.gen(function* () {
        const owned = yield* agents.list(user.id)
        const chosen = Array.findFirst(owned, ({ id }) => id === query.get("agent"))
        const { subdomain } = yield* instances.describe(user.id)
        const main = renderDashboardPage({
          user,
          instanceUrl: makeInstanceUrl(subdomain, agentsDomain, appUrl),
          allowance: yield* allowances.find(user),
          agents: owned,
          chosen,
          modelWarning: yield* Option.match(chosen, { onNone: () => Effect.succeedNone, onSome: warnOfModel }),
          isClaimOpen: Option.isSome(yield* claims.find(user.id)),
          wallets: yield* wallets.listByUser(user.id),
          form,
          appUrl,
          emailNotice: renderEmailNotice(user),
          error: query.get("error"),
          notice: query.get("notice")
        })
        return makePageResponse(assets, {
          title: "Dashboard",
          main,
          script: "dashboard.js",
          isSignedIn: true,
          path: pagePaths.dashboard
        })
      })
    )

    const files = signedIn((user, query) =>
      Effect.map(Effect.all([allowances.find(user), storage.find(user.id)]), ([{ storageMb }, tier]) =>
        makePageResponse(assets, {
          title: "Files",
          main: renderFilesPage({
            storageMb,
            tier,
            plan: user.plan,
            hasPaid: query.get("checkout") === "done",
            error: query.get("error")
          }),
          script: "files.js",
          isSignedIn: true,
          path: pagePaths.files
        })
      )
    )

    const onboarding = signedIn((user, query) =>
      Effect.gen(function* () {
        const hasPaid = query.get("checkout") === "done"
        const { mayProvision } = yield* allowances.find(user)
        const { length: agentCount } = yield* agents.list(user.id)
        const page = makePageResponse(assets, {
          title: "Get started",
          main: renderOnboardingPage({
            mayProvision,
            form,
            agentCount,
            hasPaid,
            emailNotice: renderEmailNotice(user)
          }),
          script: "onboarding.js",
          isSignedIn: true,
          path: pagePaths.onboarding
        })
        return hasPaid && !mayProvision ? HttpServerResponse.setHeader(page, "refresh", "3") : page
      })
    )

    yield* router.add("GET", pagePaths.dashboard, dashboard)
    yield* router.add("GET", pagePaths.files, files)
    yield* router.add("GET", pagePaths.onboarding, onboarding)
  })
)
