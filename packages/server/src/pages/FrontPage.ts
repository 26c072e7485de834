import { type Html, html } from "./Html.ts"
import { pagePaths } from "./PagePaths.ts"

/** Boxes of the diagram, in the order in which a message passes them. */
const diagramBoxes = [
  ["You", "Browser, API or SDK"],
  ["Berth", "Accounts, plans, streaming"],
  ["Your instance", "Agents, files, memory"],
  ["Model providers", "Called with keys that never enter the instance"]
] as const

const features = [
  ["Create", "Choose a name and a model. The agent runs seconds later."],
  ["Chat", "Use the browser, the HTTP API, server-sent events or a WebSocket. Agents remember across conversations."],
  ["Control", "Start, stop and restart your instance. Read logs and usage. Daily units cap the cost."]
] as const

/** `/` for visitors without a session. */
export const frontPage: Html = html`
  <div class="hero">
    <h1>Hosting for AI agents</h1>
    <p class="lead">
      Berth runs your AI agents in an isolated instance with files, tools and memory, and serves them over one API.
      There is nothing to deploy.
    </p>
    <p><a class="button primary" href="${pagePaths.signup}">Get started</a></p>
  </div>
  <ol class="diagram" aria-label="How a message reaches your agent">
    ${diagramBoxes.map(([name, content]) => html`<li><strong>${name}</strong> <span class="muted">${content}</span></li>`)}
  </ol>
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
