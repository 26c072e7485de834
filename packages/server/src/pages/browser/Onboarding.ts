import { offerAgent } from "./AgentForm.ts"
import { startChat } from "./Chat.ts"
import { find, revealScripted } from "./Dom.ts"

revealScripted()

offerAgent((agent) => {
  const [form, chat] = [find(HTMLElement, "#first-agent"), find(HTMLElement, "#first-chat")]
  if (form !== undefined) form.hidden = true
  if (chat !== undefined) chat.hidden = false
  const title = find(HTMLElement, "#chat-title")
  if (title !== undefined) title.textContent = `Talk to ${agent.name}`
  title?.focus()
  startChat(agent)
})
