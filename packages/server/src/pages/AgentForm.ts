import { type Html, html } from "./Html.ts"
import { renderStatusLine, renderWithScript } from "./Layout.ts"
import { pagePaths } from "./PagePaths.ts"

export interface AgentForm {
  readonly models: ReadonlyArray<string>
  /** No model provider has a key. */
  readonly repliesFromSandbox: boolean
}

const sandboxNotice = html`
  <p class="notice">
    <strong>Development:</strong> no model provider key is set, so the built-in sandbox model replies. It repeats
    messages and runs tools, for example <code>calculate 17*23</code>. To use a real model, set
    <code>OPENROUTER_API_KEY</code> or another provider key and restart Berth.
  </p>
`

/** Name and model of a new agent. */
export const renderAgentForm = ({ models, repliesFromSandbox }: AgentForm): Html =>
  renderWithScript(
    "Creating an agent",
    html`${repliesFromSandbox && sandboxNotice}
      <form class="stack" id="agent-form">
        <label>Name <input name="name" maxlength="200" autocomplete="off" required /></label>
        <label>
          Model
          <select name="model">
            ${models.map((model) => html`<option value="${model}">${model}</option>`)}
            <option value="custom">Other model</option>
          </select>
        </label>
        <label id="custom-model" hidden>
          Model ID (<code>provider/model</code>)
          <input name="customModel" maxlength="200" autocomplete="off" />
        </label>
        <button class="primary">Create agent</button>
      </form>
      ${renderStatusLine("agent-form-status")}`
  )

/** Replaces the form without a plan. */
export const planNotice = html`
  <p>You need a plan to create an agent.</p>
  <p><a class="button primary" href="${pagePaths.pricing}">Choose a plan</a></p>
`
