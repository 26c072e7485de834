import { DateTime, Duration, Effect, Option, Redacted, Schema } from "effect"
import { SecretBox } from "../../secrets/SecretBox.ts"
import { Digests } from "../../secrets/Digests.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import { OAuthProviderName, type OAuthSecrets } from "./OAuthProvider.ts"

/** Time from `start` to the callback. */
export const oauthTicketLifetime = Duration.minutes(10)

const sealContext = "oauth sign-in"

const Ticket = Schema.parseJson(
  Schema.Struct({
    provider: OAuthProviderName,
    state: Schema.Redacted(Schema.String),
    nonce: Schema.Redacted(Schema.String),
    codeVerifier: Schema.Redacted(Schema.String),
    callbackUrl: Schema.String,
    expiresAt: Schema.DateTimeUtcFromNumber
  })
)

const encodeTicket = Schema.encodeSync(Ticket)
const decodeTicket = Schema.decodeOption(Ticket)

/**
 * State of a pending sign-in, sealed in a cookie. Starting a sign-in writes no row, so strangers cannot fill a table.
 */
export class OAuthTickets extends Effect.Service<OAuthTickets>()("@berth/OAuthTickets", {
  effect: Effect.gen(function* () {
    const tokens = yield* Tokens
    const digests = yield* Digests
    const box = yield* SecretBox

    const issue = Effect.fn("OAuthTickets.issue")(function* (provider: OAuthProviderName, callbackUrl: string) {
      const [state, nonce, codeVerifier] = yield* Effect.all([tokens.make, tokens.make, tokens.make])
      const secrets: OAuthSecrets = { state, nonce, codeVerifier }
      const expiresAt = DateTime.addDuration(yield* DateTime.now, oauthTicketLifetime)
      const text = encodeTicket({ provider, ...secrets, callbackUrl, expiresAt })
      const sealed = yield* box.seal(Redacted.make(text), sealContext)
      return { secrets, sealed: Redacted.make(sealed) }
    })

    /** None if the ticket is forged, expired, or of another provider or state. */
    const open = Effect.fn("OAuthTickets.open")(function* (
      sealed: Redacted.Redacted,
      expected: { readonly provider: OAuthProviderName; readonly state: Redacted.Redacted }
    ) {
      const opened = yield* Effect.option(box.open(Redacted.value(sealed), sealContext))
      const now = yield* DateTime.now
      return opened.pipe(
        Option.flatMap((text) => decodeTicket(Redacted.value(text))),
        Option.filter(({ provider }) => provider === expected.provider),
        Option.filter(({ expiresAt }) => DateTime.greaterThan(expiresAt, now)),
        Option.filter(({ state }) => digests.equal(state, expected.state))
      )
    })

    return { issue, open }
  })
}) {}
