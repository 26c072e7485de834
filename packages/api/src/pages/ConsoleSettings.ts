export interface ConsoleNotice {
  readonly tone: "bad" | "idle"
  readonly text: string
}

/** `unconfirmed`: the address requires confirmation. `missing`: the free plan's units require an address. */
export type EmailNotice = "unconfirmed" | "missing"

/** Storage of the account and its instance, in words. */
export interface ConsoleStorage {
  readonly account: string
  readonly instance: string
  readonly isUpgraded: boolean
  /** The upgrade with its price; null if unavailable. */
  readonly upgrade: string | null
}

export interface ConsolePricing {
  readonly plans: ReadonlyArray<{
    readonly id: string
    readonly name: string
    readonly price: string
    readonly currency: "GBP" | "USD"
    readonly features: ReadonlyArray<string>
    /** Sold by a checkout link; else by the billing API. */
    readonly isByLink: boolean
  }>
  readonly packs: ReadonlyArray<{ readonly pack: string; readonly credits: number; readonly price: string }>
  readonly creditLinks: ReadonlyArray<{ readonly credits: number; readonly href: string }>
  /** True in development without a card processor. */
  readonly isWithoutPayment: boolean
}

/** Settings of the console, written into its document by the server. */
export interface ConsoleSettings {
  readonly nonce: string
  readonly userId: string
  readonly models: ReadonlyArray<string>
  /** Whether no model provider has a key. */
  readonly repliesFromSandbox: boolean
  readonly logsMailLinks: boolean
  readonly isAdministrator: boolean
  readonly isBillingExempt: boolean
  readonly mayProvision: boolean
  /** The plan's number of agents, without those whose status is `error`; null without a limit. */
  readonly maximumAgents: number | null
  /** Origin of the service, as in wallet messages. */
  readonly appUrl: string
  readonly instanceUrl: string
  readonly storage: ConsoleStorage
  readonly pricing: ConsolePricing
  readonly budgets: {
    readonly maximumUnits: number
    /** Used share of a budget from which the owner is warned. */
    readonly warningShare: number
  }
  /** Length to which the API shortens a memory. */
  readonly recentMemoryCharacters: number
  readonly email: { readonly address: string; readonly notice: EmailNotice | null }
  readonly notices: ReadonlyArray<ConsoleNotice>
}
