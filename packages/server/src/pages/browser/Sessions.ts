import { describeFailure, requestSuccess } from "./Api.ts"
import { createElement, findElement, hideOutcome, onClick, showStatus } from "./Dom.ts"
import { readListMember, readMember, readTextMember } from "./Json.ts"

const statusId = "sessions-status"
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })

const when = (text: string | undefined) => {
  const at = new Date(text ?? "")
  return Number.isNaN(at.getTime()) ? "at an unknown time" : dates.format(at)
}

const browsers = [
  ["Edg/", "Edge"],
  ["OPR/", "Opera"],
  ["Firefox/", "Firefox"],
  ["Chrome/", "Chrome"],
  ["Safari/", "Safari"]
] as const
const systems = [
  ["Android", "Android"],
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["Windows", "Windows"],
  ["Mac OS X", "macOS"],
  ["Linux", "Linux"]
] as const

const findLabel = (text: string, labels: ReadonlyArray<readonly [string, string]>) =>
  labels.find(([mark]) => text.includes(mark))?.[1]

/** Browser and system of a user agent; the text itself for other programs. */
const describeDevice = (userAgent: string): string => {
  const [browser, system] = [findLabel(userAgent, browsers), findLabel(userAgent, systems)]
  return browser === undefined || system === undefined ? userAgent : `${browser} on ${system}`
}

const row = (session: unknown, reload: () => Promise<void>) => {
  const id = readTextMember(session, "id") ?? ""
  const isCurrent = readMember(session, "current") === true
  const device = describeDevice(readTextMember(session, "userAgent") ?? "Unknown device")
  const item = createElement("li", "", { class: "row" })
  const facts = createElement("span", device)
  facts.append(
    createElement("br"),
    createElement(
      "span",
      `${readTextMember(session, "address") ?? "Unknown address"}, last used ${when(readTextMember(session, "lastSeenAt"))}`,
      {
        class: "muted"
      }
    )
  )
  item.append(facts)
  if (isCurrent) {
    item.append(createElement("span", "This session", { class: "tag" }))
    return item
  }
  const button = document.createElement("button")
  button.type = "button"
  button.className = "quiet"
  button.textContent = "Sign out"
  button.setAttribute("aria-label", `Sign out ${device}`)
  onClick(button, statusId, async () => {
    await requestSuccess("DELETE", `/api/auth/sessions/${encodeURIComponent(id)}`)
    await reload()
    showStatus(statusId, "The session ended.")
  })
  item.append(button)
  return item
}

/** Lists the sessions with a button to revoke each other one. */
export const showSessions = async (): Promise<void> => {
  const list = findElement(HTMLElement, "#sessions")
  if (list === undefined) return
  try {
    const answer = await requestSuccess("GET", "/api/auth/sessions")
    list.replaceChildren(...readListMember(answer, "sessions").map((session) => row(session, showSessions)))
    hideOutcome(statusId)
  } catch (cause) {
    showStatus(statusId, describeFailure(cause), "bad")
  }
}
