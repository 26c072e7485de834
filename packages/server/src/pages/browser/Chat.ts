import { AnswerLost, type AnswerSource, readAnswer, sendMessage } from "./AnswerStream.ts"
import { requestSuccess } from "./Api.ts"
import { createElement, findElement, findElements, hideOutcome, readField, runWithStatus, showStatus } from "./Dom.ts"
import { readListMember, readMember, readTextMember, tryParseJson } from "./Json.ts"
import { retryUntilAvailable } from "./Retry.ts"

const statusId = "chat-status"
const maximumMessages = 50

interface Bubble {
  readonly add: (text: string) => void
  readonly set: (text: string) => void
  /** Names the model of a reply, where it is known. */
  readonly name: (reply: unknown) => void
  /** Shows why there is no answer. The button of `retry` is there until it is removed. */
  readonly fail: (reason: string, retry?: () => void) => void
  readonly removeRetry: () => void
  readonly finish: () => void
}

const bubbleIn = (log: HTMLElement, who: "user" | "agent", name: string): Bubble => {
  const whole = createElement("article", "", { class: `bubble ${who}` })
  const text = createElement("p")
  whole.append(createElement("h3", name), text)
  // Announced to screen readers when complete, not delta by delta.
  if (who === "agent") whole.setAttribute("aria-busy", "true")
  log.append(whole)
  const show = () => log.scrollTo({ top: log.scrollHeight })
  const append = (element: HTMLElement) => {
    whole.append(element)
    show()
  }
  show()
  return {
    add: (piece) => {
      text.append(piece)
      show()
    },
    set: (content) => {
      text.textContent = content
      show()
    },
    name: (reply) => {
      const [model, provider] = [readTextMember(reply, "model"), readTextMember(reply, "provider")]
      if (model !== undefined && provider !== undefined)
        append(createElement("small", `${model} · ${provider}`, { class: "muted" }))
    },
    fail: (reason, retry) => {
      whole.classList.add("failed")
      append(createElement("em", reason))
      if (retry === undefined) return
      const button = createElement("button", "Retry", { type: "button", class: "quiet" })
      button.addEventListener("click", retry)
      append(button)
    },
    removeRetry: () => {
      for (const button of findElements(HTMLButtonElement, "button", whole)) button.remove()
    },
    finish: () => whole.removeAttribute("aria-busy")
  }
}

/** The newest messages of the conversation that the agent's next message belongs to. */
const readConversation = async (agentId: string): Promise<ReadonlyArray<unknown>> => {
  const query = new URLSearchParams({ action: "sessions", agentId })
  const [newest] = readListMember(await requestSuccess("GET", `/api/agent?${query.toString()}`), "sessions")
  const sessionId = readTextMember(newest, "id")
  if (sessionId === undefined) return []
  const page = new URLSearchParams({ action: "session", sessionId, limit: String(maximumMessages) })
  const found = await requestSuccess("GET", `/api/agent?${page.toString()}`)
  return readListMember(readMember(found, "session"), "messages")
}

interface ChatElements {
  readonly log: HTMLElement
  readonly form: HTMLFormElement
  readonly input: HTMLTextAreaElement
}

/** A conversation on a page. One thing at a time: loading, sending, or following answers. */
const makeConversation = ({ form, input, log }: ChatElements, agentId: string, agentName: string) => {
  const buttons = findElements(HTMLButtonElement, "button", form)
  const run = (work: () => Promise<void>) => runWithStatus(statusId, buttons, work)

  const follow = async (bubble: Bubble, message: string, source: AnswerSource) => {
    try {
      await readAnswer(
        source,
        ({ data, event }) => {
          const told = tryParseJson(data)
          if (event === "delta") bubble.add(readTextMember(told, "text") ?? "")
          if (event === "done") {
            bubble.set(readTextMember(told, "reply") ?? "")
            bubble.name(told)
          }
          if (event === "error")
            showFailure(bubble, message, readTextMember(told, "message") ?? "The answer broke off.")
        },
        (broken) =>
          broken === undefined
            ? showStatus(statusId, `${agentName} is answering …`, "busy")
            : showStatus(statusId, "The connection broke. The answer goes on when it is back …", "busy")
      )
      showStatus(statusId, "")
    } catch (cause) {
      bubble.fail("The answer could not be loaded.")
      throw cause
    } finally {
      bubble.finish()
    }
  }

  const showFailure = (bubble: Bubble, message: string, reason: string) => {
    bubble.fail(reason, () => {
      if (buttons.some(({ disabled }) => disabled)) return
      void run(() => send(message, bubble.removeRetry))
    })
    bubble.finish()
  }

  /** `onAccepted` runs once the service has the message; a refused one leaves everything as it is. */
  const send = async (message: string, onAccepted: () => void) => {
    showStatus(statusId, "Sending …", "busy")
    const response = await sendMessage(message, agentId)
    onAccepted()
    bubbleIn(log, "user", "You").set(message)
    try {
      await follow(bubbleIn(log, "agent", agentName), message, { response })
    } catch (cause) {
      if (!(cause instanceof AnswerLost)) throw cause
      await load()
    }
  }

  /** Shows the stored conversation, and follows the answers that are not complete. */
  const load = async () => {
    const messages = await retryUntilAvailable(
      () => readConversation(agentId),
      () => showStatus(statusId, "The conversation cannot be loaded. It is tried again …", "busy")
    )
    showStatus(statusId, "")
    log.replaceChildren()
    const following: Array<Promise<void>> = []
    for (const [index, message] of messages.entries()) {
      const content = readTextMember(message, "content") ?? ""
      const isUser = readTextMember(message, "role") === "user"
      const shown = bubbleIn(log, isUser ? "user" : "agent", isUser ? "You" : agentName)
      shown.set(content)
      shown.name(message)
      shown.finish()
      const status = readTextMember(message, "status")
      if (status === "pending")
        following.push(
          follow(bubbleIn(log, "agent", agentName), content, { messageId: readTextMember(message, "id") ?? "" })
        )
      if (status !== "failed") continue
      const failed = bubbleIn(log, "agent", agentName)
      const isRetried = messages.slice(index + 1).some((later) => readTextMember(later, "content") === content)
      const reason = `The message was not answered: ${readTextMember(message, "failure") ?? "the reason is unknown"}`
      if (isRetried) failed.fail(reason)
      else showFailure(failed, content, reason)
      failed.finish()
    }
    await Promise.all(following)
  }

  const submit = async () => {
    const message = readField(form, "message").trim()
    if (message === "" || buttons.some(({ disabled }) => disabled)) return
    input.readOnly = true
    await run(() =>
      send(message, () => {
        form.reset()
        input.readOnly = false
      })
    )
    input.readOnly = false
    input.focus()
  }

  return { load: () => run(load), submit }
}

/** Starts the chat of the page with the agent that the page names, or the given one. */
export const startChat = (given?: { readonly id: string; readonly name: string }): void => {
  const section = findElement(HTMLElement, "#chat")
  const log = findElement(HTMLElement, "#chat-log")
  const form = findElement(HTMLFormElement, "#chat-form")
  const input = findElement(HTMLTextAreaElement, "#chat-form textarea")
  if (section === undefined || log === undefined || form === undefined || input === undefined) return
  const id = given?.id ?? section.dataset["agentId"] ?? ""
  const name = given?.name ?? section.dataset["agentName"] ?? "Agent"
  const conversation = makeConversation({ log, form, input }, id, name)
  void conversation.load()
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    void conversation.submit()
  })
  // The reason of a refusal is about the text that was sent.
  input.addEventListener("input", () => hideOutcome(statusId))
  // Enter sends; Shift+Enter adds a line.
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return
    event.preventDefault()
    form.requestSubmit()
  })
}
