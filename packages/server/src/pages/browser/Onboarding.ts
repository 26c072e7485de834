import { startAgentForm } from "./AgentForm.ts"
import { startChat } from "./Chat.ts"
import { findElement, findElements, showScriptElements } from "./Dom.ts"
import { startEmailConfirmation } from "./EmailConfirmation.ts"

showScriptElements()
startEmailConfirmation()

const showLastStep = () => {
  const steps = findElements(HTMLElement, ".steps > li")
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1
    step.classList.toggle("done", !isLast)
    if (isLast) step.setAttribute("aria-current", "step")
    else step.removeAttribute("aria-current")
  }
}

startAgentForm((agent) => {
  const [form, chat] = [findElement(HTMLElement, "#first-agent"), findElement(HTMLElement, "#first-chat")]
  if (form !== undefined) form.hidden = true
  if (chat !== undefined) chat.hidden = false
  showLastStep()
  const title = findElement(HTMLElement, "#chat-title")
  if (title !== undefined) title.textContent = `Chat with ${agent.name}`
  title?.focus()
  startChat(agent)
})
