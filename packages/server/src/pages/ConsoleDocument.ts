import { AccountPolicy } from "@berth/domain/accounts/AccountPolicy"
import { Administrators } from "@berth/domain/accounts/Administrators"
import { AgentInstances } from "@berth/domain/agents/AgentInstances"
import { Agents } from "@berth/domain/agents/Agents"
import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import { isBillingExempt } from "@berth/domain/billing/BillingExemption"
import { BillingSettings, findCreditPrices } from "@berth/domain/billing/BillingSettings"
import { StorageEntitlements } from "@berth/domain/billing/storage/StorageEntitlements"
import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { Tokens } from "@berth/domain/secrets/Tokens"
import type { User } from "@berth/domain/shared/User"
import { HttpServerResponse } from "@effect/platform"
import { Array, Effect, Option, Redacted } from "effect"
import { makeInstanceUrl } from "../agents/AgentUrls.ts"
import { makeModelWarning } from "../agents/ModelWarning.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { ConsoleAssets } from "./ConsoleAssets.ts"
import { findConsoleNotices, findPlanReload } from "./ConsoleNotices.ts"
import { renderConsolePage } from "./ConsolePage.ts"
import { formatPricing } from "./ConsolePricing.ts"
import { findEmailNotice } from "./EmailNotice.ts"
import { makeContentSecurityPolicy, PageSettings } from "./Layout.ts"

/** Makes the response to a visit of the console. `agentId` selects the agent whose model may be replaced. */
export const makeConsoleDocument = Effect.gen(function* () {
  const { agentsDomain, appUrl } = yield* WebSettings
  const { models } = yield* AgentSettings
  const { hasCardProcessor, offersPlansWithoutPayment, prices } = yield* BillingSettings
  const creditPrices = findCreditPrices(prices)
  const { logsMailLinks, repliesFromSandbox } = yield* PageSettings
  const administrators = yield* Administrators
  const agents = yield* Agents
  const allowances = yield* Allowances
  const assets = yield* ConsoleAssets
  const instances = yield* AgentInstances
  const ledger = yield* UnitLedger
  const policy = yield* AccountPolicy
  const storage = yield* StorageEntitlements
  const tokens = yield* Tokens
  const warnOfModel = yield* makeModelWarning

  return (
    user: User,
    {
      agentId,
      path,
      query
    }: { readonly path: string; readonly query: URLSearchParams; readonly agentId: string | null }
  ) =>
    Effect.gen(function* () {
      const nonce = Redacted.value(yield* tokens.make)
      const allowance = yield* allowances.find(user)
      const tier = yield* storage.find(user.id)
      const owned = yield* agents.list(user.id)
      const { subdomain } = yield* instances.describe(user.id)
      const chosen = Array.findFirst(owned, ({ id }) => id === agentId)
      const warning = yield* Option.match(chosen, { onNone: () => Effect.succeedNone, onSome: warnOfModel })
      const { mayProvision } = allowance
      const visit = { path, query, mayProvision, hasStorageUpgrade: tier === "upgraded" }
      const reload = findPlanReload(visit)
      const page = renderConsolePage(
        {
          nonce,
          path,
          user,
          isAdministrator: administrators.includes(user),
          isBillingExempt: isBillingExempt(administrators, user),
          agents: owned,
          allowance,
          usage: yield* ledger.findUsage(user),
          tier,
          hasCardProcessor,
          pricing: formatPricing(creditPrices, offersPlansWithoutPayment),
          appUrl,
          instanceUrl: makeInstanceUrl(subdomain, agentsDomain, appUrl),
          notices: findConsoleNotices(visit),
          modelWarning: Option.getOrNull(warning),
          emailNotice: findEmailNotice(user, policy),
          models,
          repliesFromSandbox,
          logsMailLinks
        },
        assets
      )
      return HttpServerResponse.text(page.markup.trim(), {
        contentType: "text/html; charset=utf-8",
        headers: {
          "content-security-policy": makeContentSecurityPolicy(nonce),
          "cache-control": "no-store",
          "cross-origin-opener-policy": "same-origin-allow-popups",
          ...(reload === undefined ? {} : { refresh: reload })
        }
      })
    })
})
