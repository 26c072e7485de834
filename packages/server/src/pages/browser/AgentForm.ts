import { ApiRequestRejected, requestSuccess } from "./Api.ts"
import { findElement, onSubmit, showStatus, readField } from "./Dom.ts"
import { readMember, readTextMember } from "./Json.ts"

export interface CreatedAgent {
  readonly id: string
  readonly name: string
}

const statusId = "agent-form-status"

/** One idempotency key per form content: a retry after a lost response creates no second agent. */
let key = crypto.randomUUID()

const provision = async (form: HTMLFormElement): Promise<CreatedAgent> => {
  const model = readField(form, "model")
  const body = {
    name: readField(form, "name"),
    model,
    ...(model === "custom" ? { config: { customModel: readField(form, "customModel") } } : {})
  }
  const answer = await requestSuccess("POST", "/api/agents/provision", body, { "idempotency-key": key })
  key = crypto.randomUUID()
  const agent = readMember(answer, "agent")
  const [id, name] = [readTextMember(agent, "id"), readTextMember(agent, "name")]
  if (id === undefined || name === undefined)
    throw new ApiRequestRejected("The response names no agent. Reload the page.")
  return { id, name }
}

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 500))
const maximumPolls = 240

/** Resolves when the agent is running. */
const waitUntilRunning = async ({ id, name }: CreatedAgent): Promise<void> => {
  for (let asked = 0; asked < maximumPolls; asked += 1) {
    const status = readTextMember(
      readMember(await requestSuccess("GET", `/api/agents/${encodeURIComponent(id)}`), "agent"),
      "status"
    )
    if (status === "running" || status === "active") return
    if (status === "error" || status === "stopped")
      throw new ApiRequestRejected(
        `${name} was created but did not start. Start the instance on the dashboard to try again.`
      )
    showStatus(statusId, `${name} is starting …`, "busy")
    await pause()
  }
  throw new ApiRequestRejected(`${name} was created and is still starting. See the dashboard for its status.`)
}

/** Creates an agent from the page's form; calls `onUp` once it runs. */
export const startAgentForm = (onUp: (agent: CreatedAgent) => void): void => {
  const model = findElement(HTMLSelectElement, "#agent-form select")
  const custom = findElement(HTMLElement, "#custom-model")
  const input = custom === undefined ? undefined : findElement(HTMLInputElement, "input", custom)
  model?.addEventListener("change", () => {
    const isCustom = model.value === "custom"
    if (custom !== undefined) custom.hidden = !isCustom
    if (input !== undefined) input.required = isCustom
  })
  findElement(HTMLFormElement, "#agent-form")?.addEventListener("input", () => {
    key = crypto.randomUUID()
  })
  onSubmit("agent-form", statusId, async (form) => {
    const agent = await provision(form).catch((cause: unknown) => {
      // The plan ended after the page was loaded.
      if (cause instanceof ApiRequestRejected && cause.code === "subscription_required") location.assign("/pricing")
      throw cause
    })
    await waitUntilRunning(agent)
    showStatus(statusId, `${agent.name} is running.`)
    onUp(agent)
  })
}
