import { ApiRequestRejected, describeFailure } from "./Api.ts"

/** Returns the element of this type at the selector. */
export const findElement = <E extends Element>(
  kind: abstract new () => E,
  selector: string,
  within: ParentNode = document
): E | undefined => {
  const found = within.querySelector(selector)
  return found instanceof kind ? found : undefined
}

const findElements = <E extends Element>(
  kind: abstract new () => E,
  selector: string,
  within: ParentNode = document
): ReadonlyArray<E> => [...within.querySelectorAll(selector)].filter((found): found is E => found instanceof kind)

/** Creates an element with text content only. */
export const createElement = (
  tag: string,
  text = "",
  attributes: Readonly<Record<string, string>> = {}
): HTMLElement => {
  const made = document.createElement(tag)
  made.textContent = text
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  return made
}

export const showScriptElements = (): void => {
  for (const hidden of findElements(HTMLElement, "[data-needs-script]")) hidden.hidden = false
}

/** Sets a status line; an empty text hides it. */
export const showStatus = (id: string, sentence: string, kind: "good" | "bad" | "busy" = "good"): void => {
  const line = document.getElementById(id)
  if (line === null) return
  line.hidden = sentence === ""
  line.dataset["kind"] = kind
  line.textContent = sentence
}

const errorIdOf = (form: HTMLFormElement, name: string) => `${form.id}-${name}-error`

const clearFieldErrors = (form: HTMLFormElement): void => {
  for (const input of findElements(HTMLElement, "[aria-invalid]", form)) {
    input.removeAttribute("aria-invalid")
    input.removeAttribute("aria-describedby")
  }
  for (const line of findElements(HTMLElement, ".field-error", form)) line.remove()
}

/** Shows each message after its field and focuses the first one; false if a message has no field. */
const showFieldErrors = (form: HTMLFormElement, fields: ReadonlyMap<string, string>): boolean => {
  const places = [...fields].flatMap(([name, message]) => {
    const input = findElement(HTMLElement, `[name="${CSS.escape(name)}"]:not([type=hidden])`, form)
    return input === undefined ? [] : [{ input, message, name }]
  })
  if (places.length === 0 || places.length < fields.size) return false
  for (const { input, message, name } of places) {
    const id = errorIdOf(form, name)
    input.setAttribute("aria-invalid", "true")
    input.setAttribute("aria-describedby", id)
    const folded = input.closest("details")
    if (folded !== null) folded.open = true
    ;(input.closest("label") ?? input).after(createElement("p", message, { id, class: "field-error" }))
  }
  places[0]?.input.focus()
  return true
}

/** Runs one action at a time, and shows its failure in a status line. */
const runWithStatus = async (
  statusId: string,
  buttons: ReadonlyArray<HTMLButtonElement>,
  work: () => Promise<void>
): Promise<void> => {
  for (const button of buttons) button.disabled = true
  try {
    await work()
  } catch (cause) {
    showStatus(statusId, describeFailure(cause), "bad")
  } finally {
    for (const button of buttons) button.disabled = false
  }
}

/** Returns the text of a form field; empty if absent. */
export const readField = (form: HTMLFormElement, name: string): string => {
  const value = new FormData(form).get(name)
  return typeof value === "string" ? value : ""
}

export const onSubmit = (formId: string, statusId: string, work: (form: HTMLFormElement) => Promise<void>): void => {
  const form = findElement(HTMLFormElement, `#${formId}`)
  form?.addEventListener("submit", (event) => {
    event.preventDefault()
    clearFieldErrors(form)
    showStatus(statusId, "Please wait …", "busy")
    void runWithStatus(statusId, findElements(HTMLButtonElement, "button", form), async () => {
      try {
        await work(form)
      } catch (cause) {
        if (!(cause instanceof ApiRequestRejected) || !showFieldErrors(form, cause.fields)) throw cause
        showStatus(statusId, "Correct the marked fields.", "bad")
      }
    })
  })
}

export const onClick = (button: HTMLButtonElement, statusId: string, work: () => Promise<void>): void => {
  button.addEventListener("click", () => {
    showStatus(statusId, "Please wait …", "busy")
    void runWithStatus(statusId, [button], work)
  })
}
