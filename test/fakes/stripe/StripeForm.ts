/** A decoded form body: `a[b][0][c]=x` is {a: {b: {"0": {c: "x"}}}}. Lists are objects by index. */
export interface StripeForm {
  readonly [name: string]: string | StripeForm
}

interface MutableForm {
  [name: string]: string | MutableForm
}

export const parseStripeForm = (text: string): StripeForm => {
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

export const findText = (form: StripeForm, ...path: ReadonlyArray<string>): string | null => {
  const found = path.reduce<string | StripeForm | undefined>(
    (here, key) => (typeof here === "object" ? here[key] : undefined),
    form
  )
  return typeof found === "string" && found !== "" ? found : null
}

export const findForm = (form: StripeForm, ...path: ReadonlyArray<string>): StripeForm | null => {
  const found = path.reduce<string | StripeForm | undefined>(
    (here, key) => (typeof here === "object" ? here[key] : undefined),
    form
  )
  return typeof found === "object" ? found : null
}

export const findList = (form: StripeForm, name: string): ReadonlyArray<StripeForm> =>
  Object.values(findForm(form, name) ?? {}).filter((entry) => typeof entry === "object")

/** Metadata; an empty value removes its key, as at the processor. */
export const findMetadata = (form: StripeForm, ...path: ReadonlyArray<string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(findForm(form, ...path) ?? {}).flatMap(([key, value]) =>
      typeof value === "string" && value !== "" ? [[key, value]] : []
    )
  )
