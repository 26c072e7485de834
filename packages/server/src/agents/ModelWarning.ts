import type { Agent } from "@berth/domain/agents/Agent"
import { type ModelService, OwnerModels } from "@berth/domain/ai/models/OwnerModels"
import { Effect, Option } from "effect"

const describe = (model: string, service: ModelService): Option.Option<string> => {
  const unserved = `No configured provider serves ${model}`
  switch (service.type) {
    case "served":
      return Option.none()
    case "replaced":
      return Option.some(`${unserved}: ${service.answeredBy.model} (${service.answeredBy.provider}) answers instead.`)
    case "unavailable":
      return Option.some(`${unserved}, and no other model answers.`)
  }
}

/** Names the model that replaces an agent's model if no configured provider serves it; none otherwise. */
export const makeModelWarning = Effect.map(
  OwnerModels,
  ({ findService }) =>
    ({ customModel, model, ownerId }: Agent) => {
      const chosen = customModel ?? model
      return Effect.map(findService(ownerId, chosen), (service) => describe(chosen, service))
    }
)

/** Makes a `Warning` header (RFC 7234, section 5.5), whose text is a quoted ASCII string. */
export const makeWarningHeaders = (warning: Option.Option<string>): Record<string, string> =>
  Option.match(warning, {
    onNone: () => ({}),
    onSome: (text) => ({
      warning: `199 - "${text.replaceAll(/[^\x20-\x7e]/g, "?").replaceAll(/["\\]/g, String.raw`\$&`)}"`
    })
  })
