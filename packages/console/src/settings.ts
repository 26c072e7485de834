/** Settings of this page, which the server writes into its document. */
interface ConsoleSettings {
  readonly nonce: string
  readonly userId: string
  readonly models: ReadonlyArray<string>
  /** No model provider has a key. */
  readonly repliesFromSandbox: boolean
  readonly isAdministrator: boolean
}

const isSettings = (value: unknown): value is ConsoleSettings =>
  typeof value === "object" && value !== null && "nonce" in value && "models" in value

const readSettings = (): ConsoleSettings => {
  const content = document.querySelector("meta[name=berth-console]")?.getAttribute("content") ?? "{}"
  const value: unknown = JSON.parse(content)
  if (!isSettings(value)) throw new Error("The document has no settings of the console.")
  return value
}

export const settings = readSettings()

// Packages that create style elements read the nonce from this global.
Object.assign(globalThis, { __webpack_nonce__: settings.nonce })
