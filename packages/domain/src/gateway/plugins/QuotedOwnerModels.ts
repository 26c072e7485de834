import { Duration, Effect, Layer } from "effect"
import { type ModelService, OwnerModels } from "../../ai/models/OwnerModels.ts"
import type { UserId } from "../../shared/UserId.ts"
import { ModelAnswers, type ModelQuote } from "./ModelAnswers.ts"
import type { PluginFailed, PluginInputInvalid } from "./PluginRun.ts"

/** Best-effort: a response is delayed by at most this time. */
const timeout = Duration.seconds(2)

const served: ModelService = { type: "served" }

const toService = ({ answeredBy, isSubstitute }: ModelQuote): ModelService =>
  isSubstitute ? { type: "replaced", answeredBy } : served

const toUnserved = (failure: PluginFailed | PluginInputInvalid): ModelService =>
  failure._tag === "PluginFailed" && failure.isUnavailable === true ? { type: "unavailable" } : served

/** Uses quotes of the AI layer. */
export const layer = Layer.effect(
  OwnerModels,
  Effect.map(ModelAnswers, ({ quote }) => {
    const quoteFor = (userId: UserId, model: string, ownKeysOnly?: true) =>
      quote({ messages: [{ role: "user", content: "" }], model, ownKeysOnly, caller: { userId, agentId: null } })
    return OwnerModels.of({
      isCoveredByOwnKeys: (owner, model) =>
        quoteFor(owner, model, true).pipe(
          Effect.map(({ ownKey }) => ownKey),
          Effect.orElseSucceed(() => false)
        ),
      acceptsImages: (owner, model) =>
        quoteFor(owner, model).pipe(
          Effect.map(({ seesImages }) => seesImages),
          Effect.orElseSucceed(() => true)
        ),
      findService: (owner, model) =>
        quoteFor(owner, model).pipe(
          Effect.match({ onFailure: toUnserved, onSuccess: toService }),
          Effect.timeoutTo({ duration: timeout, onTimeout: () => served, onSuccess: (service) => service })
        )
    })
  })
)
