import { renderAgentForm, subscriptionIsNeeded } from "./AgentForm.ts"
import { renderChatPanel } from "./ChatPanel.ts"
import { type Html, html } from "./Html.ts"

export interface OnboardingPage {
  readonly mayProvision: boolean
  readonly models: ReadonlyArray<string>
  readonly agentCount: number
  readonly hasPaid: boolean
}

/** The card event arrives a moment after the payment. */
const paymentPendingNotice = html`
  <p class="notice" role="status">
    Thank you. Your plan is on its way and is here in a moment; this page looks again by itself.
    <a href="/onboarding?checkout=done">Look now</a>
  </p>
`

/** `/onboarding`: the first agent, then a chat with it. */
export const renderOnboardingPage = ({ agentCount, hasPaid, mayProvision, models }: OnboardingPage): Html => html`
  <div class="narrow">
    <h1>Your first agent</h1>
    ${agentCount > 0 && html`<p>You have an agent already; it is on the <a href="/dashboard">dashboard</a>.</p>`}
    <div id="first-agent">
      <p>Give it a name and a model. It is up a moment later, in an instance of your own.</p>
      ${mayProvision ? renderAgentForm(models, "Make the agent") : hasPaid ? paymentPendingNotice : subscriptionIsNeeded}
    </div>
    <div id="first-chat" hidden>
      ${renderChatPanel({ id: "", name: "" })}
      <p><a href="/dashboard">On to the dashboard</a></p>
    </div>
  </div>
`
