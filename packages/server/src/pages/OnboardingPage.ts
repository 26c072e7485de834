import { type AgentForm, planNotice, renderAgentForm } from "./AgentForm.ts"
import { renderChatPanel } from "./ChatPanel.ts"
import { type Content, type Html, html } from "./Html.ts"

export interface OnboardingPage {
  readonly mayProvision: boolean
  readonly form: AgentForm
  readonly agentCount: number
  readonly hasPaid: boolean
  readonly emailNotice: Content
}

const steps = ["Account", "Plan", "Agent", "Chat"]

const renderSteps = (current: number): Html => html`
  <ol class="steps" aria-label="Steps">
    ${steps.map(
      (step, index) =>
        html`<li ${index < current && html`class="done"`} ${index === current && html`aria-current="step"`}>
          ${step}
        </li>`
    )}
  </ol>
`

/** The card event arrives a moment after the payment. */
const paymentPending = html`
  <p class="notice" role="status">
    Thank you. Your plan becomes active in a moment; this page reloads by itself.
    <a href="/onboarding?checkout=done">Reload now</a>
  </p>
`

const firstAgent = ({ agentCount, form }: OnboardingPage): Html => html`
  ${
    agentCount > 0 &&
    html`<p class="notice">You already have an agent. Open the <a href="/dashboard">dashboard</a> to chat with it.</p>`
  }
  <p>It starts within seconds, in an instance of your own.</p>
  ${renderAgentForm(form)}
`

/** `/onboarding`: plan, first agent, then a chat with it. */
export const renderOnboardingPage = (page: OnboardingPage): Html => html`
  <div class="narrow">
    <h1>Get started</h1>
    ${renderSteps(page.mayProvision ? 2 : 1)}
    <div id="first-agent">
      <h2>${page.mayProvision ? "Create your first agent" : "Choose a plan"}</h2>
      ${page.mayProvision ? firstAgent(page) : page.hasPaid ? paymentPending : planNotice}
    </div>
    <div id="first-chat" hidden>
      ${renderChatPanel({ id: "", name: "" })}
      <p><a href="/dashboard">Go to the dashboard</a></p>
    </div>
    ${page.emailNotice}
  </div>
`
