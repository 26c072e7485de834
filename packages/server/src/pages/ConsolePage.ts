import type { ConsoleSettings } from "@berth/api/pages/ConsoleSettings"
import { budgetWarningShare, maximumBudgetLimit } from "@berth/domain/billing/budgets/Budget"
import { recentMemoryLimits } from "@berth/domain/interaction/memory/RecentMemory"
import type { Context } from "effect"
import { type ConsoleAssets, consoleAssetsPath } from "./ConsoleAssets.ts"
import { type ConsolePage, formatConsoleStorage } from "./ConsoleContent.ts"
import { type Html, html } from "./Html.ts"
import { findPlainTitle, renderPlainContent } from "./PlainConsole.ts"

const findSettings = (page: ConsolePage): ConsoleSettings => ({
  nonce: page.nonce,
  userId: page.user.id,
  models: page.models,
  repliesFromSandbox: page.repliesFromSandbox,
  logsMailLinks: page.logsMailLinks,
  isAdministrator: page.isAdministrator,
  isBillingExempt: page.isBillingExempt,
  mayProvision: page.allowance.mayProvision,
  maximumAgents: Number.isFinite(page.allowance.agents) ? page.allowance.agents : null,
  appUrl: page.appUrl.origin,
  instanceUrl: page.instanceUrl,
  storage: formatConsoleStorage(page),
  pricing: page.pricing,
  budgets: { maximumUnits: maximumBudgetLimit, warningShare: budgetWarningShare },
  recentMemoryCharacters: recentMemoryLimits.characters,
  email: { address: page.user.email, notice: page.emailNotice },
  notices: page.notices
})

/** The document of the console. */
export const renderConsolePage = (page: ConsolePage, assets: Context.Tag.Service<ConsoleAssets>): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="berth-console" content="${JSON.stringify(findSettings(page))}" />
        <title>${findPlainTitle(page.path)} &middot; Berth</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${consoleAssetsPath}/${assets.style}" />
        ${assets.preloads.map((name) => html`<link rel="modulepreload" href="${consoleAssetsPath}/${name}" />`)}
        <script type="module" src="${consoleAssetsPath}/${assets.script}"></script>
      </head>
      <body>
        <div id="root">${renderPlainContent(page, formatConsoleStorage(page))}</div>
      </body>
    </html> `
