import type { ConsoleSettings } from "@berth/api/pages/ConsoleSettings"

const isSettings = (value: unknown): value is ConsoleSettings =>
  typeof value === "object" && value !== null && "nonce" in value && "models" in value

const readSettings = (): ConsoleSettings => {
  const content = document.querySelector("meta[name=berth-console]")?.getAttribute("content") ?? "{}"
  const value: unknown = JSON.parse(content)
  if (!isSettings(value)) throw new Error("The document has no settings of the console.")
  return value
}

export const settings = readSettings()

// A reload would repeat the notice.
const address = new URL(location.href)
for (const name of ["error", "notice"]) address.searchParams.delete(name)
if (address.href !== location.href) history.replaceState(history.state, "", address)

// Packages that create style elements read the nonce from this global.
Object.assign(globalThis, { __webpack_nonce__: settings.nonce })
