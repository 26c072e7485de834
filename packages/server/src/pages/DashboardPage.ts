import type { User } from "@berth/domain/shared/User"
import type { Wallet } from "@berth/domain/signin/wallets/Wallet"
import type { Agent } from "@berth/domain/agents/Agent"
import { isUp } from "@berth/domain/agents/AgentStatus"
import type { Allowance } from "@berth/domain/billing/subscriptions/Allowances"
import { makeVerificationPath } from "@berth/domain/verification/VerificationMails"
import { Option } from "effect"
import {
  accountSection,
  apiKeysSection,
  claimSection,
  deletionSection,
  notificationsSection,
  sessionsSection,
  walletsSection
} from "./AccountSections.ts"
import { type AgentForm, planNotice, renderAgentForm } from "./AgentForm.ts"
import { describeAbsence, formatAgentStatus } from "./AgentStatusLabel.ts"
import { renderChatPanel } from "./ChatPanel.ts"
import { type Content, type Html, html } from "./Html.ts"
import { renderOutcome, renderStatusLine } from "./Layout.ts"

export interface DashboardPage {
  readonly user: User
  readonly allowance: Allowance
  /** Address of the instance's subdomain. */
  readonly instanceUrl: string
  readonly agents: ReadonlyArray<Agent>
  /** The agent of the chat, one of `agents`. */
  readonly chosen: Option.Option<Agent>
  /** The model that answers for the chosen agent in place of its own. */
  readonly modelWarning: Option.Option<string>
  /** The owner has not decided yet about the contents from before a claim. */
  readonly isClaimOpen: boolean
  readonly wallets: ReadonlyArray<Wallet>
  readonly form: AgentForm
  readonly appUrl: URL
  readonly emailNotice: Content
  readonly error: string | null
  readonly notice: string | null
}

const agentRow = ({ id, model, name, status: state }: Agent): Html => html`
  <li class="row" data-agent="${id}">
    <span>
      <strong>${name}</strong> <span class="muted">${model}</span>
      <span class="tag" data-status="${state}">${formatAgentStatus(state)}</span>
    </span>
    <span class="actions">
      <a class="button" href="/dashboard?agent=${encodeURIComponent(id)}#chat" aria-label="Chat with ${name}">Chat</a>
      <a class="button" href="${makeVerificationPath(id)}" aria-label="Verify ${name}">Verify</a>
      <button class="quiet" data-remove="${id}" aria-label="Delete ${name}" data-needs-script hidden>Delete</button>
    </span>
  </li>
`

const limitOf = (agents: number) =>
  Number.isFinite(agents) ? `up to ${agents} ${agents === 1 ? "agent" : "agents"}` : "any number of agents"

const instanceActions = [
  ["start", "Start"],
  ["stop", "Stop"],
  ["restart", "Restart"]
] as const

const agentsSection = ({ agents, allowance, form, instanceUrl, user }: DashboardPage): Html => html`
  <section aria-labelledby="agents-title" id="agents" data-user-id="${user.id}">
    <h2 id="agents-title">Agents</h2>
    ${agents.length === 0 && html`<p class="muted">You have no agents yet.</p>`}
    <ul class="rows">
      ${agents.map(agentRow)}
    </ul>
    ${
      agents.length > 0 &&
      html`<div class="actions" role="group" aria-label="Instance" data-needs-script hidden>
          ${instanceActions.map(([act, label]) => html`<button data-instance="${act}">${label}</button>`)}
          <span class="muted">Your agents share one instance: these buttons apply to all of them.</span>
        </div>
        <p><a href="${instanceUrl}">Open the instance at its own address</a></p>`
    }
    ${renderStatusLine("agents-status")} ${renderStatusLine("agents-live")}
    <details ${agents.length === 0 && html`open`}>
      <summary>New agent</summary>
      ${
        allowance.mayProvision
          ? html`<p class="muted">Your plan includes ${limitOf(allowance.agents)}.</p>
              ${renderAgentForm(form)}`
          : planNotice
      }
    </details>
  </section>
`

const chat = (chosen: Agent, modelWarning: Option.Option<string>): Html => html`
  <p class="notice" id="agent-notice" role="status" ${isUp(chosen.status) && html`hidden`}>
    ${describeAbsence(chosen.name, chosen.status)}
  </p>
  ${Option.match(modelWarning, { onNone: () => null, onSome: (warning) => html`<p class="notice">${warning}</p>` })}
  ${renderChatPanel(chosen)}
`

/** `/dashboard`: agents, account, wallets and sessions of the user. */
export const renderDashboardPage = (page: DashboardPage): Html => html`
  <h1>Dashboard</h1>
  ${renderOutcome(page)} ${page.emailNotice} ${page.isClaimOpen && claimSection}
  ${Option.match(page.chosen, { onNone: () => null, onSome: (chosen) => chat(chosen, page.modelWarning) })}
  ${agentsSection(page)} ${accountSection(page.user)} ${notificationsSection(page.user.notifications)}
  ${walletsSection(page.wallets, page.appUrl)} ${sessionsSection} ${apiKeysSection} ${deletionSection}
`
