import { describeFailure, requestSuccess } from "./Api.ts"
import { createElement, findElement, findElements, onClick, onSubmit, readField, showStatus } from "./Dom.ts"
import { readListMember, readTextMember } from "./Json.ts"

const statusId = "api-keys-status"
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" })

const day = (text: string | undefined, absent: string) => {
  const at = new Date(text ?? "")
  return Number.isNaN(at.getTime()) ? absent : dates.format(at)
}

const describeKey = (key: unknown) => {
  const scopes = readListMember(key, "scopes").join(", ")
  const expiresAt = readTextMember(key, "expiresAt")
  const expiry = expiresAt === undefined ? "does not expire" : `expires ${day(expiresAt, "")}`
  return `${readTextMember(key, "hint") ?? ""}… for ${scopes}, ${expiry}, last used ${day(readTextMember(key, "lastUsedAt"), "never")}`
}

const row = (key: unknown) => {
  const id = readTextMember(key, "id") ?? ""
  const name = readTextMember(key, "name") ?? ""
  const item = createElement("li", "", { class: "row" })
  const facts = createElement("span", name)
  facts.append(createElement("br"), createElement("span", describeKey(key), { class: "muted" }))
  const button = document.createElement("button")
  button.type = "button"
  button.className = "quiet"
  button.textContent = "Revoke"
  button.setAttribute("aria-label", `Revoke the key ${name}`)
  onClick(button, statusId, async () => {
    await requestSuccess("DELETE", `/api/keys/${encodeURIComponent(id)}`)
    await showApiKeys()
    showStatus(statusId, `The key ${name} is revoked.`)
  })
  item.append(facts, button)
  return item
}

/** Lists the API keys with a button to revoke each. */
export const showApiKeys = async (): Promise<void> => {
  const list = findElement(HTMLElement, "#api-keys")
  if (list === undefined) return
  try {
    list.replaceChildren(...readListMember(await requestSuccess("GET", "/api/keys?limit=100"), "keys").map(row))
  } catch (cause) {
    showStatus(statusId, describeFailure(cause), "bad")
  }
}

const readExpiry = (form: HTMLFormElement) => {
  const days = Number(readField(form, "days"))
  const expiry = new Date()
  expiry.setDate(expiry.getDate() + days)
  return days > 0 ? expiry.toISOString() : null
}

/** Creates a key and shows it once. */
export const startApiKeyForm = (): void => {
  onSubmit("api-key-form", statusId, async (form) => {
    const scopes = findElements(HTMLInputElement, "[name=scope]:checked", form).map(({ value }) => value)
    const body = { name: readField(form, "name"), scopes, expiresAt: readExpiry(form) }
    const created = await requestSuccess("POST", "/api/keys", body)
    const shown = findElement(HTMLInputElement, "#api-key-secret")
    if (shown !== undefined) {
      shown.value = readTextMember(created, "key") ?? ""
      shown.closest("label")?.removeAttribute("hidden")
      shown.select()
    }
    form.reset()
    await showApiKeys()
    showStatus(statusId, "The key is created. Copy it now: it is not shown again.")
  })
}
