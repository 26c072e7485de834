import { offerAgent } from "./AgentForm.ts"
import { explain, request } from "./Api.ts"
import { startChat } from "./Chat.ts"
import { find, findAll, onClick, onSubmit, revealScripted, say, textIn } from "./Dom.ts"
import { listMember, textMember } from "./Json.ts"
import { showSessions } from "./Sessions.ts"
import { offerWallets } from "./Wallet.ts"

revealScripted()
startChat()
void showSessions()

const setText = (id: string, text: string) => {
  const place = document.getElementById(id)
  if (place !== null) place.textContent = text
}

const agentPath = (id: string) => `/dashboard?agent=${encodeURIComponent(id)}#chat`

/** Shows the statuses as they are now; true while one of them is about to change by itself. */
const showStatuses = async (): Promise<boolean> => {
  const agents = listMember(await request("GET", "/api/agents"), "agents")
  for (const agent of agents) {
    const row = find(HTMLElement, `[data-agent="${CSS.escape(textMember(agent, "id") ?? "")}"] [data-status]`)
    const status = textMember(agent, "status") ?? ""
    if (row === undefined || row.textContent === status) continue
    row.textContent = status
    row.dataset["status"] = status
  }
  return agents.some((agent) => textMember(agent, "status") === "provisioning")
}

const follow = () => {
  showStatuses().then(
    (isChanging) => setTimeout(follow, isChanging ? 1000 : 15_000),
    (cause: unknown) => say("agents-status", explain(cause), "bad")
  )
}
if (find(HTMLElement, "[data-agent]") !== undefined) follow()

const userId = find(HTMLElement, "#agents")?.dataset["userId"] ?? ""
const done: Readonly<Record<string, string>> = {
  start: "Your agents are up.",
  stop: "Your agents are stopped.",
  restart: "Your agents were restarted."
}
for (const button of findAll(HTMLButtonElement, "[data-cell]")) {
  const act = button.dataset["cell"] ?? ""
  onClick(button, "agents-status", async () => {
    await request("POST", `/api/instance/${encodeURIComponent(userId)}/${act}`)
    await showStatuses()
    say("agents-status", done[act] ?? "Done.")
  })
}

for (const button of findAll(HTMLButtonElement, "[data-remove]")) {
  onClick(button, "agents-status", async () => {
    if (!confirm("Remove the agent with its conversations? Nothing can bring them back."))
      return say("agents-status", "")
    await request("DELETE", `/api/agents/provision/${encodeURIComponent(button.dataset["remove"] ?? "")}`)
    location.assign("/dashboard")
  })
}

offerAgent(({ id }) => location.assign(agentPath(id)))

onSubmit("profile-form", "profile-status", async (form) => {
  const saved = await request("POST", "/api/settings", { name: textIn(form, "name"), email: textIn(form, "email") })
  const email = textMember(saved, "email") ?? ""
  setText("account-name", textMember(saved, "name") ?? "")
  if (document.getElementById("account-email")?.textContent !== email) setText("account-email-state", "not confirmed")
  setText("account-email", email)
  say("profile-status", "Saved.")
})

const confirmEmail = find(HTMLButtonElement, "#confirm-email")
if (confirmEmail !== undefined)
  onClick(confirmEmail, "confirm-email-status", async () => {
    say("confirm-email-status", textMember(await request("POST", "/api/auth/verify-email"), "message") ?? "Done.")
  })

onSubmit("password-form", "password-status", async (form) => {
  const body = { currentPassword: textIn(form, "currentPassword"), newPassword: textIn(form, "newPassword") }
  await request("POST", "/api/settings/password", body)
  form.reset()
  say("password-status", "The password is changed, and every other session has ended.")
  await showSessions()
})

const notifications = find(HTMLFormElement, "#notifications-form")
notifications?.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement)) return
  say("notifications-status", "Saving …", "busy")
  request("PATCH", "/api/settings", { notifications: { [target.name]: target.checked } }).then(
    () => say("notifications-status", "Saved."),
    (cause: unknown) => {
      target.checked = !target.checked
      say("notifications-status", explain(cause), "bad")
    }
  )
})

offerWallets({ verb: "Link", statement: "Link this wallet to your Berth account." }, async (proof) => {
  await request("POST", "/api/settings/wallets", proof)
  location.reload()
})
for (const button of findAll(HTMLButtonElement, "[data-unlink]")) {
  onClick(button, "wallet-status", async () => {
    const address = encodeURIComponent(button.dataset["unlink"] ?? "")
    await request("DELETE", `/api/settings/wallets?address=${address}`)
    location.reload()
  })
}

onSubmit("delete-form", "delete-status", async (form) => {
  const password = textIn(form, "password")
  await request("DELETE", "/api/settings", password === "" ? {} : { password })
  location.assign("/login")
})
