/** A form-encoded body with its brackets read: `a[b][0][c]=x` is {a: {b: {"0": {c: "x"}}}}. Lists are objects by their indices. */
export interface Form {
  readonly [name: string]: string | Form
}

interface MutableForm {
  [name: string]: string | MutableForm
}

export const readForm = (text: string): Form => {
  const root: MutableForm = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const path = [name.split("[")[0] ?? "", ...[...name.matchAll(/\[([^\]]*)\]/g)].map(([, key = ""]) => key)]
    let here = root
    for (const key of path.slice(0, -1)) {
      const next = here[key]
      here = typeof next === "object" ? next : (here[key] = {})
    }
    here[path.at(-1) ?? ""] = value
  }
  return root
}

export const textAt = (form: Form, ...path: ReadonlyArray<string>): string | null => {
  const found = path.reduce<string | Form | undefined>(
    (here, key) => (typeof here === "object" ? here[key] : undefined),
    form
  )
  return typeof found === "string" && found !== "" ? found : null
}

export const formAt = (form: Form, ...path: ReadonlyArray<string>): Form | null => {
  const found = path.reduce<string | Form | undefined>(
    (here, key) => (typeof here === "object" ? here[key] : undefined),
    form
  )
  return typeof found === "object" ? found : null
}

/** The entries of a list, in its order. */
export const listAt = (form: Form, name: string): ReadonlyArray<Form> =>
  Object.values(formAt(form, name) ?? {}).filter((entry) => typeof entry === "object")

/** Metadata; an empty value takes its key away, which is how the processor does it. */
export const metadataAt = (form: Form, ...path: ReadonlyArray<string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(formAt(form, ...path) ?? {}).flatMap(([key, value]) =>
      typeof value === "string" && value !== "" ? [[key, value]] : []
    )
  )
