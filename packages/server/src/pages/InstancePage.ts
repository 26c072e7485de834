import type { Agent } from "@berth/domain/agents/Agent"
import { isUp } from "@berth/domain/agents/AgentStatus"
import type { Instance } from "@berth/domain/instances/Instance"
import { Option } from "effect"
import { describeAbsence, formatAgentStatus } from "./AgentStatusLabel.ts"
import { renderChatPanel } from "./ChatPanel.ts"
import { type Html, html } from "./Html.ts"

const chat = (chosen: Agent): Html => html`
  <p class="notice" role="status" ${isUp(chosen.status) && html`hidden`}>
    ${describeAbsence(chosen.name, chosen.status)}
  </p>
  ${renderChatPanel(chosen)}
`

const agentRow = ({ id, name, status }: Agent): Html => html`
  <li>
    <a href="/?agent=${encodeURIComponent(id)}#chat">${name}</a>
    <span data-status="${formatAgentStatus(status)}">${formatAgentStatus(status)}</span>
  </li>
`

/** `/` of an instance's subdomain: its agents, and the chat with one of them. */
export const renderInstancePage = ({
  agents,
  chosen,
  instance
}: {
  readonly instance: Instance
  readonly agents: ReadonlyArray<Agent>
  readonly chosen: Option.Option<Agent>
}): Html => html`
  <h1>Your instance</h1>
  <p>
    ${formatAgentStatus(instance.status)}${instance.runtimeVersion !== null && html`, runtime ${instance.runtimeVersion}`}
  </p>
  ${Option.match(chosen, { onNone: () => html`<p class="muted">It has no agents yet.</p>`, onSome: chat })}
  <section aria-labelledby="agents-title">
    <h2 id="agents-title">Agents</h2>
    <ul class="rows">
      ${agents.map(agentRow)}
    </ul>
  </section>
`

/** `/instance`: leads to the subdomain by its `Refresh` header, or by the link. */
export const renderOpeningPage = (target: URL): Html => html`
  <h1>Opening your instance</h1>
  <p><a href="${target.href}">Continue to your instance</a></p>
`
