import { type Html, html } from "./Html.ts"
import { pagePaths } from "./PagePaths.ts"

const features = [
  ["Create", "Choose a template and a model. The agent runs seconds later, in an instance of your own."],
  ["Connect", "Chat in the console, over the HTTP API, a WebSocket, Telegram, WhatsApp, Discord or another agent."],
  ["Control", "Schedules, skills, logs and the cost of each answer in one place. Daily units cap what you spend."]
] as const

const agents = [
  ["Helpdesk", "Running"],
  ["Researcher", "Running"],
  ["Bookkeeper", "Stopped"]
] as const

/** Console with a sample conversation, without images and scripts. */
const picture = html`
  <figure class="picture">
    <div class="window">
      <div class="window-bar" aria-hidden="true"><i></i><i></i><i></i></div>
      <div class="window-body">
        <ul class="window-agents" aria-label="Sample agents">
          ${agents.map(([name, status]) => html`<li>${name} <span class="tag" data-status="${status.toLowerCase()}">${status}</span></li>`)}
        </ul>
        <div class="window-chat">
          <p class="said-by-user">What do 17 crates at 23 euros cost?</p>
          <p class="tool-call"><span>calculator</span> <code>17*23</code> <code>391</code></p>
          <p class="said-by-agent">17 crates at 23 euros cost <strong>391 euros</strong>. Shall I write the order?</p>
          <p class="said-by-user">Yes, and remind me on Monday at 9.</p>
          <p class="said-by-agent">Done. The order is in <code>order.md</code>, and a schedule runs on Monday.</p>
        </div>
      </div>
    </div>
    <figcaption>A conversation in the console: tools, files and schedules included.</figcaption>
  </figure>
`

/** `/` for visitors without a session. */
export const frontPage: Html = html`
  <div class="front">
    <div class="hero">
      <h1>Hosting for AI agents</h1>
      <p class="lead">
        Berth runs your AI agents in an isolated instance with files, tools and memory, and serves them over one API.
        There is nothing to deploy.
      </p>
      <p><a class="button primary" href="${pagePaths.signup}">Get started</a></p>
    </div>
    ${picture}
  </div>
  <div class="features">
    ${features.map(
      ([name, text]) =>
        html`<section>
          <h2>${name}</h2>
          <p>${text}</p>
        </section>`
    )}
  </div>
`
