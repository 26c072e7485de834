/** Settings of this page, which the server writes into its document. */
interface ConsoleSettings {
  readonly nonce: string
  readonly userId: string
  readonly models: ReadonlyArray<string>
  /** No model provider has a key. */
  readonly repliesFromSandbox: boolean
  /** Links of mails are in the log. */
  readonly logsMailLinks: boolean
  readonly isAdministrator: boolean
  readonly mayProvision: boolean
  /** Origin of the service, which wallet messages name. */
  readonly appUrl: string
  /** Address of the subdomain of the user's instance. */
  readonly instanceUrl: string
  readonly storage: {
    readonly account: string
    readonly instance: string
    readonly isUpgraded: boolean
    /** The upgrade with its price; null while it is not for sale. */
    readonly upgrade: string | null
  }
  /** Items for sale. */
  readonly pricing: {
    readonly plans: ReadonlyArray<{
      readonly id: string
      readonly name: string
      readonly price: string
      readonly currency: "GBP" | "USD"
      readonly dailyUnits: number
      readonly features: ReadonlyArray<string>
      /** Sold by a checkout link; otherwise by the billing API. */
      readonly isByLink: boolean
    }>
    readonly packs: ReadonlyArray<{ readonly pack: string; readonly credits: number; readonly price: string }>
    readonly creditLinks: ReadonlyArray<{ readonly credits: number; readonly href: string }>
    /** Development without a card processor. */
    readonly isWithoutPayment: boolean
  }
  readonly email: { readonly address: string; readonly notice: "unconfirmed" | "missing" | null }
  /** Outcomes that the address of the document named. */
  readonly notices: ReadonlyArray<{ readonly tone: "bad" | "idle"; readonly text: string }>
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

// A reload would show the outcome again.
const address = new URL(location.href)
for (const name of ["error", "notice"]) address.searchParams.delete(name)
if (address.href !== location.href) history.replaceState(history.state, "", address)

// Packages that create style elements read the nonce from this global.
Object.assign(globalThis, { __webpack_nonce__: settings.nonce })
