import { Refused, request } from "./Api.ts"
import { find, onSubmit, say, textIn } from "./Dom.ts"
import { member, textMember } from "./Json.ts"

export interface MadeAgent {
  readonly id: string
  readonly name: string
}

const statusId = "agent-form-status"

/** One key for what the form says: sent again after a lost answer, it makes no second agent. */
let key = crypto.randomUUID()

const provision = async (form: HTMLFormElement): Promise<MadeAgent> => {
  const model = textIn(form, "model")
  const body = {
    name: textIn(form, "name"),
    model,
    ...(model === "custom" ? { config: { customModel: textIn(form, "customModel") } } : {})
  }
  const answer = await request("POST", "/api/agents/provision", body, { "idempotency-key": key })
  key = crypto.randomUUID()
  const agent = member(answer, "agent")
  const [id, name] = [textMember(agent, "id"), textMember(agent, "name")]
  if (id === undefined || name === undefined) throw new Refused("The service did not say which agent it made.")
  return { id, name }
}

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 500))
const patience = 240

/** Until the agent is up. */
const untilUp = async ({ id, name }: MadeAgent): Promise<void> => {
  for (let asked = 0; asked < patience; asked += 1) {
    const status = textMember(member(await request("GET", `/api/agents/${encodeURIComponent(id)}`), "agent"), "status")
    if (status === "running" || status === "active") return
    if (status === "error" || status === "stopped")
      throw new Refused(`${name} was made, but it did not come up. Its log is in the API; starting it tries again.`)
    say(statusId, `${name} is coming up …`, "busy")
    await pause()
  }
  throw new Refused(`${name} was made and is still coming up. Look at the dashboard in a while.`)
}

/** Makes an agent from the page's form; `onUp` follows once it answers. */
export const offerAgent = (onUp: (agent: MadeAgent) => void): void => {
  const model = find(HTMLSelectElement, "#agent-form select")
  const custom = find(HTMLElement, "#custom-model")
  const input = custom === undefined ? undefined : find(HTMLInputElement, "input", custom)
  model?.addEventListener("change", () => {
    const isCustom = model.value === "custom"
    if (custom !== undefined) custom.hidden = !isCustom
    if (input !== undefined) input.required = isCustom
  })
  find(HTMLFormElement, "#agent-form")?.addEventListener("input", () => {
    key = crypto.randomUUID()
  })
  onSubmit("agent-form", statusId, async (form) => {
    const agent = await provision(form)
    await untilUp(agent)
    say(statusId, `${agent.name} is up.`)
    onUp(agent)
  })
}
