/** An outcome that the address of a document named. */
export interface ConsoleNotice {
  readonly tone: "bad" | "idle"
  readonly text: string
}

/** `unconfirmed`: the address waits for its confirmation. `missing`: the units of the free plan need an address. */
export type EmailNotice = "unconfirmed" | "missing"

/** Storage of the account and its instance, in words. */
export interface ConsoleStorage {
  readonly account: string
  readonly instance: string
  readonly isUpgraded: boolean
  /** The upgrade with its price; null while it is not for sale. */
  readonly upgrade: string | null
}

/** Items for sale. */
export interface ConsolePricing {
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

/** Settings of the console, which the server writes into its document. */
export interface ConsoleSettings {
  readonly nonce: string
  readonly userId: string
  readonly models: ReadonlyArray<string>
  /** No model provider has a key. */
  readonly repliesFromSandbox: boolean
  /** Links of mails are in the log. */
  readonly logsMailLinks: boolean
  readonly isAdministrator: boolean
  /** The user pays nothing, and budgets do not bind. */
  readonly isBillingExempt: boolean
  readonly mayProvision: boolean
  /** Origin of the service, which wallet messages name. */
  readonly appUrl: string
  /** Address of the subdomain of the user's instance. */
  readonly instanceUrl: string
  readonly storage: ConsoleStorage
  readonly pricing: ConsolePricing
  readonly budgets: {
    readonly maximumUnits: number
    /** The used share of a budget from which its owner is warned. */
    readonly warningShare: number
  }
  readonly email: { readonly address: string; readonly notice: EmailNotice | null }
  readonly notices: ReadonlyArray<ConsoleNotice>
}
