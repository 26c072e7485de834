import { Clock, Context, Data, Effect, type Option, type Redacted, Schema } from "effect"
import { Outbox } from "../../jobs/Outbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Digests } from "../../secrets/Digests.ts"
import { ApplyCardEventJob, isCardEvent, SignedCardEvent } from "./CardEvent.ts"
import { CardEventRepository } from "./CardEventRepository.ts"
import { verifySignature } from "./CardEventSignature.ts"

/** `STRIPE_WEBHOOK_SECRET` is not set. */
export class CardEventsNotConfigured extends Data.TaggedError("CardEventsNotConfigured")<object> {}

/** The signature is valid, but the body is no event. */
export class CardEventMalformed extends Data.TaggedError("CardEventMalformed")<object> {}

/** `STRIPE_WEBHOOK_SECRET` with its prefix. */
export class CardEventSecret extends Context.Tag("@berth/CardEventSecret")<
  CardEventSecret,
  Option.Option<Redacted.Redacted>
>() {}

const decodeEvent = Schema.decodeUnknown(Schema.parseJson(SignedCardEvent))
const readText = (body: Uint8Array) => Effect.try(() => new TextDecoder("utf-8", { fatal: true }).decode(body))

/** Stores events of the card processor. A job applies them. */
export class CardEventInbox extends Effect.Service<CardEventInbox>()("@berth/CardEventInbox", {
  effect: Effect.gen(function* () {
    const configured = yield* CardEventSecret
    const digests = yield* Digests
    const events = yield* CardEventRepository
    const outbox = yield* Outbox
    const transaction = yield* Transaction

    /** Stores an event with the job that applies it. Idempotent. */
    const receive = Effect.fn("CardEventInbox.receive")(function* (header: string | undefined, body: Uint8Array) {
      const secret = yield* Effect.mapError(configured, () => new CardEventsNotConfigured())
      const nowMillis = yield* Clock.currentTimeMillis
      const signedAt = yield* Effect.tapError(
        verifySignature(digests, { header, body, secret, nowMillis }),
        ({ fault }) =>
          Effect.logWarning("An event of the card processor was refused").pipe(
            Effect.annotateLogs({ signature: fault })
          )
      )
      const received = yield* Effect.mapError(
        Effect.flatMap(readText(body), (text) => decodeEvent(text)),
        () => new CardEventMalformed()
      )
      const event = { ...received, created: received.created ?? signedAt }
      yield* Effect.annotateCurrentSpan({ "card.event": event.id, "card.event_type": event.type })
      if (!isCardEvent(event)) return yield* Effect.logDebug("An event of the card processor is none of ours")
      yield* transaction.run(
        Effect.gen(function* () {
          if (!(yield* events.insert(event))) return
          yield* outbox.append(ApplyCardEventJob, { eventId: event.id })
        })
      )
    })

    return { receive }
  })
}) {}
