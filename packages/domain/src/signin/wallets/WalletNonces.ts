import { DateTime, Duration, Effect, Option, Redacted, Schema } from "effect"
import { SecretBox } from "../../secrets/SecretBox.ts"
import { Tokens } from "../../secrets/Tokens.ts"

/** Time from the nonce to the signed message. */
export const walletNonceLifetime = Duration.minutes(10)

const sealContext = "wallet sign-in nonce"
const nonceLength = 24

const Ticket = Schema.parseJson(Schema.Struct({ nonce: Schema.String, expiresAt: Schema.DateTimeUtcFromNumber }))
const encodeTicket = Schema.encodeSync(Ticket)
const decodeTicket = Schema.decodeOption(Ticket)

/** Nonces bound to a browser by a sealed cookie. Issuing a nonce writes no row. */
export class WalletNonces extends Effect.Service<WalletNonces>()("@berth/WalletNonces", {
  effect: Effect.gen(function* () {
    const tokens = yield* Tokens
    const box = yield* SecretBox

    /** Returns a nonce and the sealed ticket that binds it to the browser. */
    const issue = Effect.fn("WalletNonces.issue")(function* () {
      const token = Redacted.value(yield* tokens.make)
      // EIP-4361 allows letters and digits only.
      const nonce = token.replace(/[^A-Za-z0-9]/g, "").slice(0, nonceLength)
      const expiresAt = DateTime.addDuration(yield* DateTime.now, walletNonceLifetime)
      const ticket = yield* box.seal(Redacted.make(encodeTicket({ nonce, expiresAt })), sealContext)
      return { nonce, ticket: Redacted.make(ticket) }
    })

    /** None if the ticket is forged or expired. */
    const readTicket = Effect.fn("WalletNonces.readTicket")(function* (ticket: Redacted.Redacted) {
      const opened = yield* Effect.option(box.open(Redacted.value(ticket), sealContext))
      const now = yield* DateTime.now
      return opened.pipe(
        Option.flatMap((text) => decodeTicket(Redacted.value(text))),
        Option.filter(({ expiresAt }) => DateTime.greaterThan(expiresAt, now)),
        Option.map(({ nonce }) => nonce)
      )
    })

    return { issue, readTicket }
  })
}) {}
