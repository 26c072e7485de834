import { makeSseParser, type SseEvent } from "@berth/api/http/Sse"
import { ApiRequestRejected, requestSuccess } from "./Api.ts"
import { runWithStatus, createElement, findElement, findElements, showStatus, readField } from "./Dom.ts"
import { readListMember, tryParseJson, readTextMember } from "./Json.ts"

const path = "/api/agent"
const statusId = "chat-status"

interface Bubble {
  readonly add: (text: string) => void
  readonly set: (text: string) => void
  readonly fail: (text: string) => void
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
    fail: (reason) => {
      whole.classList.add("failed")
      text.append(createElement("em", reason))
      show()
    },
    finish: () => whole.removeAttribute("aria-busy")
  }
}

/** Reconnects after a broken stream. */
const attempts = 5
const pause = (attempt: number) => new Promise<void>((resolve) => setTimeout(resolve, 500 * 2 ** attempt))

/** The events of an answer. A stream that ends without `done` or `error` is resumed after its last event. */
const followAnswer = async (
  body: { readonly message: string; readonly agentId: string },
  onEvent: (event: SseEvent) => void
): Promise<void> => {
  let last: string | undefined
  let isDone = false
  for (let attempt = 0; !isDone; attempt += 1) {
    const broken = await streamOnce(body, last, (event) => {
      last = event.id ?? last
      isDone = event.event === "done" || event.event === "error"
      onEvent(event)
    })
    if (isDone) return
    if (last === undefined || attempt === attempts)
      throw broken ?? new ApiRequestRejected("The answer broke off. Load the page again to see what came.")
    await pause(attempt)
  }
}

/** Reads one stream to its end; returns the transport error that broke it, if any. Throws on an error response. */
const streamOnce = async (
  body: unknown,
  last: string | undefined,
  onEvent: (event: SseEvent) => void
): Promise<ApiRequestRejected | undefined> => {
  const headers = { "content-type": "application/json", accept: "text/event-stream" }
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: last === undefined ? headers : { ...headers, "last-event-id": last },
      body: JSON.stringify(body)
    })
    if (!response.ok || response.body === null) {
      const said = tryParseJson(await response.text())
      throw new ApiRequestRejected(readTextMember(said, "message") ?? `The agent did not answer (${response.status}).`)
    }
    const parser = makeSseParser()
    const decoder = new TextDecoder()
    const reader = response.body.getReader()
    for (let part = await reader.read(); !part.done; part = await reader.read())
      for (const event of parser.push(decoder.decode(part.value, { stream: true }))) onEvent(event)
    return undefined
  } catch (cause) {
    if (cause instanceof ApiRequestRejected) throw cause
    return new ApiRequestRejected("The connection broke. Look at your connection, then try again.", { cause })
  }
}

const showHistory = async (log: HTMLElement, agentId: string, agentName: string) => {
  const told = await requestSuccess("GET", `/api/agents/${encodeURIComponent(agentId)}/messages?limit=50`)
  for (const message of readListMember(told, "messages").toReversed()) {
    const isUser = readTextMember(message, "sender") === "user"
    const bubble = bubbleIn(log, isUser ? "user" : "agent", isUser ? "You" : agentName)
    bubble.set(readTextMember(message, "content") ?? "")
    bubble.finish()
  }
}

const sendMessage = async (log: HTMLElement, agentId: string, agentName: string, message: string) => {
  bubbleIn(log, "user", "You").set(message)
  const bubble = bubbleIn(log, "agent", agentName)
  showStatus(statusId, `${agentName} is answering …`, "busy")
  try {
    await followAnswer({ message, agentId }, ({ data, event }) => {
      const told = tryParseJson(data)
      if (event === "delta") bubble.add(readTextMember(told, "text") ?? "")
      if (event === "done") bubble.set(readTextMember(told, "reply") ?? "")
      if (event === "error") bubble.fail(readTextMember(told, "message") ?? "The answer broke off.")
    })
    showStatus(statusId, "")
  } catch (cause) {
    bubble.fail("No answer came.")
    throw cause
  } finally {
    bubble.finish()
  }
}

/** Starts the chat of the page with the agent that the page names, or the given one. */
export const startChat = (given?: { readonly id: string; readonly name: string }): void => {
  const section = findElement(HTMLElement, "#chat")
  const log = findElement(HTMLElement, "#chat-log")
  const form = findElement(HTMLFormElement, "#chat-form")
  if (section === undefined || log === undefined || form === undefined) return
  const id = given?.id ?? section.dataset["agentId"] ?? ""
  const name = given?.name ?? section.dataset["agentName"] ?? "Agent"
  const buttons = findElements(HTMLButtonElement, "button", form)
  const input = findElement(HTMLTextAreaElement, "textarea", form)
  const history = runWithStatus(statusId, [], () => showHistory(log, id, name))
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    const message = readField(form, "message").trim()
    if (message === "" || buttons.some(({ disabled }) => disabled)) return
    form.reset()
    // The history precedes new messages, even when it loads slowly.
    const answered = runWithStatus(statusId, buttons, () => history.then(() => sendMessage(log, id, name, message)))
    void answered.then(() => input?.focus())
  })
  // Enter sends; Shift+Enter adds a line.
  input?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return
    event.preventDefault()
    form.requestSubmit()
  })
}
