import { DateTime, Duration, Effect, Option, Redacted, Schema } from "effect"
import { IdempotencyKeys } from "../limits/IdempotencyKeys.ts"
import { Digests, hashSecret } from "../secrets/Digests.ts"
import { SecretBox } from "../secrets/SecretBox.ts"
import { Tokens } from "../secrets/Tokens.ts"
import { SessionId } from "../sessions/Session.ts"
import { Sessions } from "../sessions/Sessions.ts"
import type { UserId } from "../shared/UserId.ts"
import { InstanceNotFound } from "./InstanceErrors.ts"
import { Instances } from "./Instances.ts"

const ticketLifetime = Duration.minutes(1)
/** Maximum lifetime. The session of the web API can end earlier, with immediate effect. */
export const instanceSessionLifetime = Duration.hours(12)

const Sealed = Schema.parseJson(
  Schema.Struct({
    sessionId: SessionId,
    subdomain: Schema.String,
    /** Hash of the browser's secret; tickets only. */
    browser: Schema.String,
    expiresAt: Schema.DateTimeUtcFromNumber
  })
)
const encode = Schema.encodeSync(Sealed)
const decode = Schema.decodeOption(Sealed)

/**
 * Transfers a session to the subdomain of the user's instance: a ticket that one browser redeems once, then a cookie.
 * Both are sealed and name the session, so neither outlives it.
 */
export class InstanceSignIn extends Effect.Service<InstanceSignIn>()("@berth/InstanceSignIn", {
  effect: Effect.gen(function* () {
    const instances = yield* Instances
    const sessions = yield* Sessions
    const box = yield* SecretBox
    const digests = yield* Digests
    const keys = yield* IdempotencyKeys
    const tokens = yield* Tokens

    const seal = Effect.fnUntraced(function* (
      kind: "ticket" | "session",
      content: Omit<typeof Sealed.Type, "expiresAt">,
      lifetime: Duration.Duration
    ) {
      const expiresAt = DateTime.addDuration(yield* DateTime.now, lifetime)
      const text = Redacted.make(encode({ ...content, expiresAt }))
      return Redacted.make(yield* box.seal(text, `instance ${kind}`))
    })

    const open = Effect.fnUntraced(function* (
      kind: "ticket" | "session",
      sealed: Redacted.Redacted,
      subdomain: string
    ) {
      const opened = yield* Effect.option(box.open(Redacted.value(sealed), `instance ${kind}`))
      const now = yield* DateTime.now
      return opened.pipe(
        Option.flatMap((text) => decode(Redacted.value(text))),
        Option.filter((content) => content.subdomain === subdomain && DateTime.greaterThan(content.expiresAt, now))
      )
    })

    /** Issues a ticket for the browser whose secret has the hash `browser`. Fails for the subdomain of another user. */
    const issueTicket = Effect.fn("InstanceSignIn.issueTicket")(function* (
      { sessionId, userId }: { readonly userId: UserId; readonly sessionId: SessionId },
      subdomain: string,
      browser: string
    ) {
      const instance = yield* instances.find(userId)
      if (instance.subdomain !== subdomain) return yield* new InstanceNotFound()
      return yield* seal("ticket", { sessionId, subdomain, browser }, ticketLifetime)
    })

    /** Exchanges a ticket for the value of the cookie; none for a used ticket or a browser with another secret. */
    const redeemTicket = Effect.fn("InstanceSignIn.redeemTicket")(function* (
      subdomain: string,
      ticket: Redacted.Redacted,
      secret: Redacted.Redacted
    ) {
      const payload = Option.filter(
        yield* open("ticket", ticket, subdomain),
        ({ browser }) => browser === hashSecret(digests, secret)
      )
      if (Option.isNone(payload)) return Option.none()
      const { sessionId } = payload.value
      // Redemptions are different requests with the ticket's key, so only the first is claimed.
      const key = { principal: sessionId, route: "instance ticket", key: hashSecret(digests, ticket) }
      const claim = yield* keys.claim(key, hashSecret(digests, yield* tokens.make))
      if (claim._tag !== "Claimed") return Option.none()
      return Option.some(yield* seal("session", { sessionId, subdomain, browser: "" }, instanceSessionLifetime))
    })

    /** Returns session and user of the cookie while the session lasts. */
    const authenticate = Effect.fn("InstanceSignIn.authenticate")(function* (
      subdomain: string,
      cookie: Redacted.Redacted
    ) {
      const payload = yield* open("session", cookie, subdomain)
      return Option.flatten(yield* Effect.transposeMapOption(payload, ({ sessionId }) => sessions.find(sessionId)))
    })

    return { issueTicket, redeemTicket, authenticate }
  })
}) {}
