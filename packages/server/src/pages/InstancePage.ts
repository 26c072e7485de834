import type { Agent } from "@berth/domain/agents/Agent"
import type { Instance } from "@berth/domain/instances/Instance"
import { formatAgentStatus } from "./AgentStatusLabel.ts"
import { type Html, html } from "./Html.ts"

const agentRow = ({ id, name, status }: Agent, appUrl: URL): Html => html`
  <li class="row">
    <span>${name} <span class="tag" data-status="${status}">${formatAgentStatus(status)}</span></span>
    <a
      class="button"
      href="${new URL(`/dashboard/agents/${encodeURIComponent(id)}/chat`, appUrl).href}"
      aria-label="Chat with ${name}"
      >Chat</a
    >
  </li>
`

/** `/` of an instance's subdomain: its agents, with links to their chats in the console. */
export const renderInstancePage = ({
  agents,
  appUrl,
  instance
}: {
  readonly instance: Instance
  readonly agents: ReadonlyArray<Agent>
  readonly appUrl: URL
}): Html => html`
  <h1>Your instance</h1>
  <p>
    ${formatAgentStatus(instance.status)}${instance.runtimeVersion !== null && html`, runtime ${instance.runtimeVersion}`}
  </p>
  <section aria-labelledby="agents-title">
    <h2 id="agents-title">Agents</h2>
    ${agents.length === 0 && html`<p class="muted">It has no agents yet.</p>`}
    <ul class="rows">
      ${agents.map((agent) => agentRow(agent, appUrl))}
    </ul>
  </section>
`
