import type { ConsoleStorage, EmailNotice } from "@berth/api/pages/ConsoleSettings"
import type { Agent } from "@berth/domain/agents/Agent"
import { formatAgentStatus } from "./AgentStatusLabel.ts"
import type { ConsolePage } from "./ConsoleContent.ts"
import { type Html, html } from "./Html.ts"
import { formatPlan, renderSignOutForm } from "./Layout.ts"
import { pagePaths } from "./PagePaths.ts"

const emailNotices: Readonly<Record<EmailNotice, string>> = {
  unconfirmed: "Confirm your email address by the link that we mailed to it.",
  missing: "Add an email address: the daily units of the free plan need a confirmed one."
}

const agentRow = ({ id, model, name, status }: Agent): Html => {
  const address = `/dashboard/agents/${encodeURIComponent(id)}`
  return html`
    <li>
      <a href="${address}/chat">${name}</a>, ${model}:
      <span data-status="${status}">${formatAgentStatus(status)}</span>,
      <a href="${address}/verification" aria-label="Verification of ${name}">Verification</a>
    </li>
  `
}

const choosePlan = html`<a href="${pagePaths.pricing}">Choose a plan</a>`

const storageFacts = ({ account, instance, isUpgraded }: ConsoleStorage): Html => html`
  <dt>Account storage</dt>
  <dd>${account}${isUpgraded && ", upgraded"}</dd>
  <dt>Instance storage of your plan</dt>
  <dd>${instance}</dd>
`

const renderDashboard = (page: ConsolePage, storage: ConsoleStorage): Html => {
  const { agents, allowance, instanceUrl, usage, user } = page
  return html`
    <h2>Agents</h2>
    ${agents.length === 0 && html`<p>You have no agents yet. <a href="${pagePaths.onboarding}">Get started</a></p>`}
    <ul>
      ${agents.map(agentRow)}
    </ul>
    ${!allowance.mayProvision && html`<p>You need a plan to create an agent. ${choosePlan}</p>`}
    <h2>Plan and storage</h2>
    <dl>
      <dt>Account</dt>
      <dd>${user.name}, ${user.email}</dd>
      <dt>Plan</dt>
      <dd>${formatPlan(user.plan)}</dd>
      <dt>Units today</dt>
      <dd>${usage.used} of ${usage.dailyUnits}</dd>
      ${storageFacts(storage)}
      ${
        agents.length > 0 &&
        html`<dt>Instance</dt>
          <dd><a href="${instanceUrl}">${instanceUrl}</a></dd>`
      }
    </dl>
  `
}

const step = (name: string, isDone: boolean, content: Html): Html => html`
  <li>
    <strong>${name}</strong>${isDone && html` (done)`}
    <p>${content}</p>
  </li>
`

const renderOnboarding = ({ agents, allowance, emailNotice, user }: ConsolePage): Html => {
  const { mayProvision } = allowance
  const hasAgents = agents.length > 0
  return html`
    <p>Your first agent takes a plan, a name and a message.</p>
    <ol>
      ${emailNotice !== null && step("Confirm your email address", false, html`${emailNotices[emailNotice]}`)}
      ${step(
        "Choose a plan",
        mayProvision,
        mayProvision
          ? html`Your plan: ${formatPlan(user.plan)}. <a href="${pagePaths.pricing}">Compare plans</a>`
          : html`You need a plan to create an agent. ${choosePlan}`
      )}
      ${step(
        "Create an agent",
        hasAgents,
        hasAgents
          ? html`Your agents are on the <a href="${pagePaths.dashboard}">dashboard</a>.`
          : html`Turn on JavaScript to create it here, or send <code>POST /api/agents/provision</code> of the
              <a href="/docs">API</a>.`
      )}
      ${step(
        "Talk to it",
        false,
        html`In its chat, which needs JavaScript, by <code>POST /api/agent</code> of the <a href="/docs">API</a>, or on
          a messaging channel.`
      )}
    </ol>
  `
}

const renderFiles = ({ user }: ConsolePage, storage: ConsoleStorage): Html => html`
  <p>Your agents keep their files, memories and conversations in the storage of your instance.</p>
  <dl>
    <dt>Plan</dt>
    <dd>${formatPlan(user.plan)}</dd>
    ${storageFacts(storage)}
  </dl>
  ${
    storage.upgrade !== null &&
    html`<form method="post" action="${pagePaths.files}">
      <button>Get ${storage.upgrade}</button>
    </form>`
  }
`

const bodies: Readonly<
  Record<string, { readonly title: string; readonly render: (page: ConsolePage, storage: ConsoleStorage) => Html }>
> = {
  [pagePaths.dashboard]: { title: "Dashboard", render: renderDashboard },
  [pagePaths.files]: { title: "Files", render: renderFiles },
  [pagePaths.onboarding]: { title: "Get started", render: renderOnboarding }
}

/** Returns the title of a console page before the application sets one. */
export const findPlainTitle = (path: string): string => bodies[path]?.title ?? "Console"

const links = [
  [pagePaths.dashboard, "Dashboard"],
  [pagePaths.files, "Files"],
  [pagePaths.pricing, "Pricing"],
  ["/docs", "API"]
] as const

/** Works without scripts; the application replaces it. */
export const renderPlainContent = (page: ConsolePage, storage: ConsoleStorage): Html => {
  const { emailNotice, modelWarning, notices, path } = page
  const render = bodies[path]?.render ?? renderDashboard
  return html`
    <div class="plain">
      <header>
        <a href="/">Berth</a>
        <nav aria-label="Main">
          ${links.map(([to, name]) => html`<a href="${to}" ${to === path && html`aria-current="page"`}>${name}</a> `)}
        </nav>
        ${renderSignOutForm}
      </header>
      <main>
        <h1>${findPlainTitle(path)}</h1>
        ${notices.map(({ text, tone }) => html`<p role="${tone === "bad" ? "alert" : "status"}">${text}</p>`)}
        ${modelWarning !== null && html`<p role="status">${modelWarning}</p>`}
        ${emailNotice !== null && render !== renderOnboarding && html`<p role="status">${emailNotices[emailNotice]}</p>`}
        ${render(page, storage)}
        <p>Chats, settings and usage need JavaScript. The <a href="/docs">API</a> offers the same.</p>
      </main>
    </div>
  `
}
