import { DateTime, Duration, Effect, Option, Redacted, Schema } from "effect"
import { SecretBox } from "../../secrets/SecretBox.ts"
import { Tokens } from "../../secrets/Tokens.ts"

/** How long a browser has to come back with a signed message. */
export const walletNonceLifetime = Duration.minutes(10)

const sealContext = "wallet sign-in nonce"
const nonceLength = 24

const Ticket = Schema.parseJson(Schema.Struct({ nonce: Schema.String, expiresAt: Schema.DateTimeUtcFromNumber }))
const encodeTicket = Schema.encodeSync(Ticket)
const decodeTicket = Schema.decodeOption(Ticket)

/**
 * Nonces that are bound to a browser. The browser keeps a sealed ticket that no script reads and nobody else can make, so
 * that asking for a nonce stores nothing; what is stored is its use.
 */
export class WalletNonces extends Effect.Service<WalletNonces>()("@berth/WalletNonces", {
  effect: Effect.gen(function* () {
    const tokens = yield* Tokens
    const box = yield* SecretBox

    /** A nonce for a message, and the ticket that its browser brings back with it. */
    const issue = Effect.fn("WalletNonces.issue")(function* () {
      const token = Redacted.value(yield* tokens.make)
      // EIP-4361 takes letters and digits only.
      const nonce = token.replace(/[^A-Za-z0-9]/g, "").slice(0, nonceLength)
      const expiresAt = DateTime.addDuration(yield* DateTime.now, walletNonceLifetime)
      const ticket = yield* box.seal(Redacted.make(encodeTicket({ nonce, expiresAt })), sealContext)
      return { nonce, ticket: Redacted.make(ticket) }
    })

    /** The nonce of a ticket; none when the ticket is not ours, or too old. */
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
