import * as Tool from "@berth/domain/skills/tools/Tool"
import { Schema } from "effect"
import type { TurnAgent } from "../Toolbox.ts"
import type { WalletBackend } from "../BackendCalls.ts"

const text = (description: string) => Schema.String.annotations({ description })

/** Tools of the wallet skill. A model decides only amounts and addresses; the owner sets limits. */
export const makeWalletTools = (call: WalletBackend["Type"]) => [
  Tool.make({
    name: "get_balance",
    description: "Returns the address and the balances of the owner's wallet.",
    parameters: Schema.Struct({}),
    run: (_, turn: TurnAgent) => call(turn, { action: "get_balance" })
  }),
  Tool.make({
    name: "send_usdc",
    description: "Sends USDC from the owner's wallet, within the owner's limits.",
    parameters: Schema.Struct({
      to: text("Address of the recipient: 0x and 40 hex digits."),
      amount: text("Amount in USDC as a decimal, for example 1.50.")
    }),
    timeout: "30 seconds",
    run: ({ amount, to }, turn: TurnAgent) => call(turn, { action: "send_usdc", to, amount })
  }),
  Tool.make({
    name: "x402_payments",
    description: "Requests a URL and pays for it with USDC if the service asks, within the owner's limits.",
    parameters: Schema.Struct({
      url: text("The http or https URL."),
      body: Schema.optional(text("JSON to send with POST; absent for GET."))
    }),
    timeout: "90 seconds",
    run: ({ body, url }, turn: TurnAgent) =>
      call(turn, {
        action: "x402_payments",
        url,
        method: body === undefined ? "GET" : "POST",
        body: body ?? null
      })
  })
]
