import { type Html, html } from "./Html.ts"
import { renderStatusLine, renderWithScript } from "./Layout.ts"
import type { AgentId } from "@berth/domain/shared/AgentId"

/** Chat with an agent, filled by the script. */
export const renderChatPanel = (agent: { readonly id: AgentId | ""; readonly name: string }): Html => html`
  <section
    class="chat"
    id="chat"
    aria-labelledby="chat-title"
    data-agent-id="${agent.id}"
    data-agent-name="${agent.name}"
  >
    <h2 id="chat-title" tabindex="-1">${agent.name === "" ? "Chat with your agent" : `Chat with ${agent.name}`}</h2>
    ${renderWithScript(
      "Chatting on this page",
      html`<div class="log" id="chat-log" role="log" aria-live="polite" aria-label="Conversation" tabindex="0"></div>
        <form class="stack" id="chat-form">
          <label>Message <textarea name="message" rows="3" required aria-describedby="chat-status"></textarea></label>
          <button class="primary">Send</button>
        </form>
        ${renderStatusLine("chat-status")}`
    )}
  </section>
`
