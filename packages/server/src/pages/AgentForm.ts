import { type Html, html } from "./Html.ts"
import { renderStatusLine, renderWithScript } from "./Layout.ts"

/** Name and model of a new agent. */
export const renderAgentForm = (models: ReadonlyArray<string>, submit: string): Html =>
  renderWithScript(
    "Making an agent",
    html`<form class="stack" id="agent-form">
        <label>Name <input name="name" maxlength="200" autocomplete="off" required /></label>
        <label>
          Model
          <select name="model">
            ${models.map((model) => html`<option value="${model}">${model}</option>`)}
            <option value="custom">another one, by its id</option>
          </select>
        </label>
        <label id="custom-model" hidden>
          Id of the model, <code>provider/model</code>
          <input name="customModel" maxlength="200" autocomplete="off" />
        </label>
        <button class="primary">${submit}</button>
      </form>
      ${renderStatusLine("agent-form-status")}`
  )

/** Replaces the form without a plan. */
export const subscriptionIsNeeded = html`
  <p class="notice">An agent needs a plan. Look at <a href="/pricing">what there is</a>.</p>
`
