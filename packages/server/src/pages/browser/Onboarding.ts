import { startAgentForm } from "./AgentForm.ts"
import { startChat } from "./Chat.ts"
import { findElement, showScriptElements } from "./Dom.ts"

showScriptElements()

startAgentForm((agent) => {
  const [form, chat] = [findElement(HTMLElement, "#first-agent"), findElement(HTMLElement, "#first-chat")]
  if (form !== undefined) form.hidden = true
  if (chat !== undefined) chat.hidden = false
  const title = findElement(HTMLElement, "#chat-title")
  if (title !== undefined) title.textContent = `Talk to ${agent.name}`
  title?.focus()
  startChat(agent)
})
