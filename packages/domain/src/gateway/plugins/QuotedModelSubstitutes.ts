import { Duration, Effect, Layer } from "effect"
import { type ModelService, ModelSubstitutes } from "../../ai/models/ModelSubstitutes.ts"
import { ModelAnswers, type ModelQuote } from "./ModelAnswers.ts"
import type { PluginFailed, PluginInputInvalid } from "./PluginRun.ts"

/** Best-effort: a response is delayed by at most this time. */
const timeout = Duration.seconds(2)

const served: ModelService = { type: "served" }

const toService = ({ answeredBy, isSubstitute }: ModelQuote): ModelService =>
  isSubstitute ? { type: "replaced", answeredBy } : served

const toUnserved = (failure: PluginFailed | PluginInputInvalid): ModelService =>
  failure._tag === "PluginFailed" && failure.isUnavailable === true ? { type: "unavailable" } : served

/** Uses a quote of the AI layer. */
export const layer = Layer.effect(
  ModelSubstitutes,
  Effect.map(ModelAnswers, ({ quote }) =>
    ModelSubstitutes.of({
      find: (userId, model) =>
        quote({ messages: [{ role: "user", content: "" }], model, caller: { userId, agentId: null } }).pipe(
          Effect.match({ onFailure: toUnserved, onSuccess: toService }),
          Effect.timeoutTo({ duration: timeout, onTimeout: () => served, onSuccess: (service) => service })
        )
    })
  )
)
