import type { User } from "@berth/domain/shared/User"
import type { Wallet } from "@berth/domain/signin/wallets/Wallet"
import type { Agent } from "@berth/domain/agents/Agent"
import { isUp } from "@berth/domain/agents/AgentStatus"
import type { Allowance } from "@berth/domain/billing/subscriptions/Allowances"
import { Option } from "effect"
import {
  accountSection,
  claimSection,
  deletionSection,
  notificationsSection,
  sessionsSection,
  walletsSection
} from "./AccountSections.ts"
import { renderAgentForm, subscriptionIsNeeded } from "./AgentForm.ts"
import { renderChatPanel } from "./ChatPanel.ts"
import { type Html, html } from "./Html.ts"
import { renderOutcome, renderStatusLine } from "./Layout.ts"

export interface DashboardPage {
  readonly user: User
  readonly allowance: Allowance
  readonly agents: ReadonlyArray<Agent>
  /** The agent of the chat, one of `agents`. */
  readonly chosen: Option.Option<Agent>
  /** The model that answers for the chosen agent in place of its own. */
  readonly modelWarning: Option.Option<string>
  /** The owner has not decided yet about the contents from before a claim. */
  readonly isClaimOpen: boolean
  readonly wallets: ReadonlyArray<Wallet>
  readonly models: ReadonlyArray<string>
  readonly appUrl: URL
  readonly error: string | null
  readonly notice: string | null
}

const agentRow = ({ id, model, name, status: state }: Agent): Html => html`
  <li class="row" data-agent="${id}">
    <span>
      <strong>${name}</strong> <span class="muted">${model}</span>
      <span class="tag" data-status="${state}">${state}</span>
    </span>
    <span class="actions">
      <a class="button" href="/dashboard?agent=${encodeURIComponent(id)}#chat" aria-label="Talk to ${name}">Talk</a>
      <button class="quiet" data-remove="${id}" aria-label="Remove ${name}" data-needs-script hidden>Remove</button>
    </span>
  </li>
`

const limitOf = (agents: number) => (Number.isFinite(agents) ? `up to ${agents}` : "as many as you like")

const instanceActions = [
  ["start", "Start"],
  ["stop", "Stop"],
  ["restart", "Restart"]
] as const

const agentsSection = ({ agents, allowance, models, user }: DashboardPage): Html => html`
  <section aria-labelledby="agents-title" id="agents" data-user-id="${user.id}">
    <h2 id="agents-title">Agents</h2>
    ${agents.length === 0 && html`<p class="muted">You have no agent yet.</p>`}
    <ul class="rows">
      ${agents.map(agentRow)}
    </ul>
    ${
      agents.length > 0 &&
      html`<div class="actions" role="group" aria-label="The instance of your agents" data-needs-script hidden>
        ${instanceActions.map(([act, label]) => html`<button data-instance="${act}">${label}</button>`)}
        <span class="muted">All your agents run in one instance and start and stop together.</span>
      </div>`
    }
    ${renderStatusLine("agents-status")}
    <details ${agents.length === 0 && html`open`}>
      <summary>New agent</summary>
      ${
        allowance.mayProvision
          ? html`<p class="muted">You may have ${limitOf(allowance.agents)}.</p>
              ${renderAgentForm(models, "Make the agent")}`
          : subscriptionIsNeeded
      }
    </details>
  </section>
`

const chat = (chosen: Agent, modelWarning: Option.Option<string>): Html => html`
  ${!isUp(chosen.status) && html`<p class="notice">${chosen.name} is ${chosen.status} and answers once it is up.</p>`}
  ${Option.match(modelWarning, { onNone: () => null, onSome: (warning) => html`<p class="notice">${warning}</p>` })}
  ${renderChatPanel(chosen)}
`

/** `/dashboard`: agents, account, wallets and sessions of the user. */
export const renderDashboardPage = (page: DashboardPage): Html => html`
  <h1>Dashboard</h1>
  ${renderOutcome(page)} ${page.isClaimOpen && claimSection}
  ${Option.match(page.chosen, { onNone: () => null, onSome: (chosen) => chat(chosen, page.modelWarning) })}
  ${agentsSection(page)} ${accountSection(page.user)} ${notificationsSection(page.user.notifications)}
  ${walletsSection(page.wallets, page.appUrl)} ${sessionsSection} ${deletionSection}
`
