import { explain, request } from "./Api.ts"
import { element, find, onClick, say } from "./Dom.ts"
import { listMember, member, textMember } from "./Json.ts"

const statusId = "sessions-status"
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })

const when = (text: string | undefined) => {
  const at = new Date(text ?? "")
  return Number.isNaN(at.getTime()) ? "at an unknown time" : dates.format(at)
}

const row = (session: unknown, reload: () => Promise<void>) => {
  const id = textMember(session, "id") ?? ""
  const isCurrent = member(session, "current") === true
  const device = textMember(session, "userAgent") ?? "an unknown program"
  const item = element("li", "", { class: "row" })
  const facts = element("span", device)
  facts.append(
    element("br"),
    element(
      "span",
      `${textMember(session, "address") ?? "unknown address"}, last used ${when(textMember(session, "lastSeenAt"))}`,
      {
        class: "muted"
      }
    )
  )
  item.append(facts)
  if (isCurrent) {
    item.append(element("span", "this one", { class: "tag" }))
    return item
  }
  const button = document.createElement("button")
  button.type = "button"
  button.className = "quiet"
  button.textContent = "End"
  button.setAttribute("aria-label", `End the session of ${device}`)
  onClick(button, statusId, async () => {
    await request("DELETE", `/api/auth/sessions/${encodeURIComponent(id)}`)
    await reload()
    say(statusId, "The session ended.")
  })
  item.append(button)
  return item
}

/** Shows where the user is signed in, with a way to end each session but this one. */
export const showSessions = async (): Promise<void> => {
  const list = find(HTMLElement, "#sessions")
  if (list === undefined) return
  try {
    const answer = await request("GET", "/api/auth/sessions")
    list.replaceChildren(...listMember(answer, "sessions").map((session) => row(session, showSessions)))
  } catch (cause) {
    say(statusId, explain(cause), "bad")
  }
}
