import { describeAbsence, formatAgentStatus } from "../AgentStatusLabel.ts"
import { startAgentForm } from "./AgentForm.ts"
import { describeFailure, requestSuccess } from "./Api.ts"
import { showApiKeys, startApiKeyForm } from "./ApiKeys.ts"
import { startChat } from "./Chat.ts"
import {
  findElement,
  findElements,
  hideOutcome,
  onClick,
  onSubmit,
  openNamedSection,
  readField,
  showScriptElements,
  showStatus
} from "./Dom.ts"
import { startEmailConfirmation } from "./EmailConfirmation.ts"
import { readListMember, readTextMember } from "./Json.ts"
import { retryUntilAvailable } from "./Retry.ts"
import { showSessions } from "./Sessions.ts"
import { startWalletButtons } from "./Wallet.ts"

showScriptElements()
openNamedSection()
startEmailConfirmation()
startChat()
void showSessions()
void showApiKeys()
startApiKeyForm()

const setText = (id: string, text: string) => {
  const place = document.getElementById(id)
  if (place !== null) place.textContent = text
}

const agentPath = (id: string) => `/dashboard?agent=${encodeURIComponent(id)}#chat`

const chat = findElement(HTMLElement, "#chat")
const notice = findElement(HTMLElement, "#agent-notice")

/** Shows or hides the notice that the agent of the chat does not run. */
const showAbsence = (status: string) => {
  if (notice === undefined) return
  notice.textContent = describeAbsence(chat?.dataset["agentName"] ?? "", status)
  notice.hidden = notice.textContent === ""
}

/** Shows the current statuses; true while one is transitional. */
const showStatuses = async (): Promise<boolean> => {
  const agents = readListMember(await requestSuccess("GET", "/api/agents"), "agents")
  for (const agent of agents) {
    const id = readTextMember(agent, "id") ?? ""
    const row = findElement(HTMLElement, `[data-agent="${CSS.escape(id)}"] [data-status]`)
    const status = readTextMember(agent, "status") ?? ""
    const label = formatAgentStatus(status)
    if (id === chat?.dataset["agentId"]) showAbsence(status)
    if (row === undefined || row.textContent === label) continue
    row.textContent = label
    row.dataset["status"] = status
    // The outcome of an action before the change is no longer true.
    hideOutcome("agents-status")
  }
  return agents.some((agent) => readTextMember(agent, "status") === "provisioning")
}

/** Polls for the life of the page: a failed poll is said, and the next one takes that back. */
const pollStatuses = async () => {
  for (;;) {
    const isChanging = await retryUntilAvailable(showStatuses, ({ message }) =>
      showStatus("agents-live", `The statuses are not up to date. ${message}`, "bad")
    )
    if (document.getElementById("agents-live")?.hidden === false) void showSessions()
    showStatus("agents-live", "")
    await waitForPoll(isChanging ? 1000 : 15_000)
  }
}

/** Waits for the time, or until connectivity or visibility changes. */
const waitForPoll = (milliseconds: number) =>
  new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer)
      for (const [target, event] of wakeEvents) target.removeEventListener(event, done)
      resolve()
    }
    const timer = setTimeout(done, milliseconds)
    for (const [target, event] of wakeEvents) target.addEventListener(event, done)
  })

const wakeEvents = [
  [window, "online"],
  [window, "offline"],
  [document, "visibilitychange"]
] as const

if (findElement(HTMLElement, "[data-agent]") !== undefined)
  pollStatuses().catch((cause: unknown) => showStatus("agents-live", describeFailure(cause), "bad"))

// A notice in the address would be shown again by each reload.
const address = new URL(location.href)
address.searchParams.delete("notice")
address.searchParams.delete("error")
if (address.href !== location.href) history.replaceState(history.state, "", address)

const userId = findElement(HTMLElement, "#agents")?.dataset["userId"] ?? ""
const done: Readonly<Record<string, string>> = {
  start: "Your agents are running.",
  stop: "Your agents are stopped.",
  restart: "Your agents were restarted."
}
for (const button of findElements(HTMLButtonElement, "[data-instance]")) {
  const act = button.dataset["instance"] ?? ""
  onClick(button, "agents-status", async () => {
    await requestSuccess("POST", `/api/instance/${encodeURIComponent(userId)}/${act}`)
    await showStatuses()
    showStatus("agents-status", done[act] ?? "Done.")
  })
}

for (const button of findElements(HTMLButtonElement, "[data-remove]")) {
  onClick(button, "agents-status", async () => {
    if (!confirm("Delete the agent and its conversations? This cannot be undone."))
      return showStatus("agents-status", "")
    await requestSuccess("DELETE", `/api/agents/provision/${encodeURIComponent(button.dataset["remove"] ?? "")}`)
    location.assign("/dashboard")
  })
}

startAgentForm(({ id }) => location.assign(agentPath(id)))

for (const button of findElements(HTMLButtonElement, "[data-claim]")) {
  onClick(button, "claim-status", async () => {
    await requestSuccess("POST", "/api/settings/claim", { decision: button.dataset["claim"] ?? "" })
    location.reload()
  })
}

onSubmit("profile-form", "profile-status", async (form) => {
  const saved = await requestSuccess("POST", "/api/settings", {
    name: readField(form, "name"),
    email: readField(form, "email")
  })
  const email = readTextMember(saved, "email") ?? ""
  setText("account-name", readTextMember(saved, "name") ?? "")
  if (document.getElementById("account-email")?.textContent !== email) setText("account-email-state", "not confirmed")
  setText("account-email", email)
  showStatus("profile-status", "Saved.")
})

onSubmit("password-form", "password-status", async (form) => {
  const body = { currentPassword: readField(form, "currentPassword"), newPassword: readField(form, "newPassword") }
  await requestSuccess("POST", "/api/settings/password", body)
  form.reset()
  showStatus("password-status", "Your password is changed, and every other session has ended.")
  await showSessions()
})

const notifications = findElement(HTMLFormElement, "#notifications-form")
notifications?.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement)) return
  showStatus("notifications-status", "Saving …", "busy")
  requestSuccess("PATCH", "/api/settings", { notifications: { [target.name]: target.checked } }).then(
    () => showStatus("notifications-status", "Saved."),
    (cause: unknown) => {
      target.checked = !target.checked
      showStatus("notifications-status", describeFailure(cause), "bad")
    }
  )
})

startWalletButtons({ verb: "Link", statement: "Link this wallet to your Berth account." }, async (proof) => {
  await requestSuccess("POST", "/api/settings/wallets", proof)
  location.reload()
})
for (const button of findElements(HTMLButtonElement, "[data-unlink]")) {
  onClick(button, "wallet-status", async () => {
    const address = encodeURIComponent(button.dataset["unlink"] ?? "")
    await requestSuccess("DELETE", `/api/settings/wallets?address=${address}`)
    location.reload()
  })
}

onSubmit("delete-form", "delete-status", async (form) => {
  const password = readField(form, "password")
  await requestSuccess("DELETE", "/api/settings", password === "" ? { confirm: true } : { password })
  location.assign("/login")
})
