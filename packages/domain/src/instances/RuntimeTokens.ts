import { Effect, type Redacted } from "effect"
import { InstanceRepository } from "./InstanceRepository.ts"

/** Whose cell shows a token. */
export class RuntimeTokens extends Effect.Service<RuntimeTokens>()("@berth/RuntimeTokens", {
  effect: Effect.map(InstanceRepository, (repository) => ({
    findOwner: Effect.fn("RuntimeTokens.findOwner")(function* (token: Redacted.Redacted) {
      return yield* repository.findByRuntimeToken(token)
    })
  }))
}) {}
