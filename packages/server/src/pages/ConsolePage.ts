import { storageUpgrade } from "@berth/domain/billing/checkout/Purchase"
import { findStorageGigabytes, type StorageTier } from "@berth/domain/billing/storage/StorageEntitlements"
import type { Allowance } from "@berth/domain/billing/subscriptions/Allowances"
import type { UnitUsage } from "@berth/domain/billing/units/UnitSplit"
import type { Agent } from "@berth/domain/agents/Agent"
import { toMajorUnits } from "@berth/domain/shared/Money"
import type { User } from "@berth/domain/shared/User"
import { formatAgentStatus } from "./AgentStatusLabel.ts"
import { type ConsoleAssets, consoleAssetsPath } from "./ConsoleAssets.ts"
import type { ConsoleNotice } from "./ConsoleNotices.ts"
import type { EmailNotice } from "./EmailNotice.ts"
import { type Html, html } from "./Html.ts"
import { formatPlan, formatPrice, renderSignOutForm } from "./Layout.ts"
import { pagePaths } from "./PagePaths.ts"
import type { Context } from "effect"

export interface ConsolePage {
  readonly nonce: string
  readonly path: string
  readonly user: User
  readonly isAdministrator: boolean
  readonly agents: ReadonlyArray<Agent>
  readonly allowance: Allowance
  readonly usage: UnitUsage
  readonly tier: StorageTier
  readonly hasCardProcessor: boolean
  readonly appUrl: URL
  /** Address of the instance's subdomain. */
  readonly instanceUrl: string
  readonly notices: ReadonlyArray<ConsoleNotice>
  readonly emailNotice: EmailNotice | null
  readonly models: ReadonlyArray<string>
  readonly repliesFromSandbox: boolean
  readonly logsMailLinks: boolean
}

const titles: Readonly<Record<string, string>> = {
  [pagePaths.dashboard]: "Dashboard",
  [pagePaths.files]: "Files",
  [pagePaths.onboarding]: "Get started"
}

const mebibytesPerGibibyte = 1024
const formatStorage = (mebibytes: number) =>
  mebibytes < mebibytesPerGibibyte
    ? `${mebibytes} MiB`
    : `${(mebibytes / mebibytesPerGibibyte).toLocaleString("en")} GiB`

const storageOf = ({ allowance: { storageMb }, hasCardProcessor, tier }: ConsolePage) => ({
  account: `${findStorageGigabytes(tier)} GB`,
  instance: formatStorage(storageMb),
  isUpgraded: tier === "upgraded",
  // Without a card processor nothing is for sale.
  upgrade:
    hasCardProcessor && tier !== "upgraded"
      ? `${findStorageGigabytes("upgraded")} GB for ${formatPrice(toMajorUnits(storageUpgrade.price.amount), storageUpgrade.price.currency)} per month`
      : null
})

/** The members of the document that the application reads. */
const renderSettings = (page: ConsolePage): string =>
  JSON.stringify({
    nonce: page.nonce,
    userId: page.user.id,
    models: page.models,
    repliesFromSandbox: page.repliesFromSandbox,
    logsMailLinks: page.logsMailLinks,
    isAdministrator: page.isAdministrator,
    mayProvision: page.allowance.mayProvision,
    appUrl: page.appUrl.origin,
    instanceUrl: page.instanceUrl,
    storage: storageOf(page),
    email: { address: page.user.email, notice: page.emailNotice },
    notices: page.notices
  })

const emailNotices: Readonly<Record<EmailNotice, string>> = {
  unconfirmed: "Confirm your email address by the link that we mailed to it.",
  missing: "Add an email address: the daily units of the free plan need a confirmed one."
}

const agentRow = ({ id, model, name, status }: Agent): Html => html`
  <li>
    <a href="/dashboard/agents/${encodeURIComponent(id)}/chat">${name}</a>, ${model}:
    <span data-status="${status}">${formatAgentStatus(status)}</span>
  </li>
`

/** Works without scripts; the application replaces it. */
const renderPlainContent = (page: ConsolePage): Html => {
  const { agents, allowance, emailNotice, notices, path, usage, user } = page
  const storage = storageOf(page)
  return html`
    <div class="plain">
      <header>
        <a href="/">Berth</a>
        <nav aria-label="Main">
          <a href="${pagePaths.dashboard}">Dashboard</a> <a href="${pagePaths.files}">Files</a>
          <a href="${pagePaths.pricing}">Pricing</a> <a href="/docs">API</a>
        </nav>
        ${renderSignOutForm}
      </header>
      <main>
        <h1>${titles[path] ?? "Console"}</h1>
        ${notices.map(({ text, tone }) => html`<p role="${tone === "bad" ? "alert" : "status"}">${text}</p>`)}
        ${emailNotice !== null && html`<p role="status">${emailNotices[emailNotice]}</p>`}
        <h2>Agents</h2>
        ${agents.length === 0 && html`<p>You have no agents yet.</p>`}
        <ul>
          ${agents.map(agentRow)}
        </ul>
        ${!allowance.mayProvision && html`<p>You need a plan to create an agent. <a href="/pricing">Choose a plan</a></p>`}
        <h2>Plan and storage</h2>
        <dl>
          <dt>Account</dt>
          <dd>${user.name}, ${user.email}</dd>
          <dt>Plan</dt>
          <dd>${formatPlan(user.plan)}</dd>
          <dt>Units today</dt>
          <dd>${usage.used} of ${usage.dailyUnits}</dd>
          <dt>Account storage</dt>
          <dd>${storage.account}</dd>
          <dt>Instance storage of your plan</dt>
          <dd>${storage.instance}</dd>
          <dt>Instance</dt>
          <dd><a href="${page.instanceUrl}">${page.instanceUrl}</a></dd>
        </dl>
        <p>Chats, settings and purchases on this page need JavaScript. The <a href="/docs">API</a> offers the same.</p>
      </main>
    </div>
  `
}

/** The document of the console. */
export const renderConsolePage = (page: ConsolePage, assets: Context.Tag.Service<ConsoleAssets>): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="berth-console" content="${renderSettings(page)}" />
        <title>${titles[page.path] ?? "Console"} · Berth</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${consoleAssetsPath}/${assets.style}" />
        <script type="module" src="${consoleAssetsPath}/${assets.script}"></script>
      </head>
      <body>
        <div id="root">${renderPlainContent(page)}</div>
      </body>
    </html> `
