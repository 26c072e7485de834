import { Effect, type Redacted } from "effect"
import { InstanceRepository } from "./InstanceRepository.ts"

/** Whose cell shows a token. */
export class CellTokens extends Effect.Service<CellTokens>()("@berth/CellTokens", {
  effect: Effect.map(InstanceRepository, (repository) => ({
    findOwner: Effect.fn("CellTokens.findOwner")(function* (token: Redacted.Redacted) {
      return yield* repository.findByCellToken(token)
    })
  }))
}) {}
