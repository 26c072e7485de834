import { Effect } from "effect"
import { makeAiHealth } from "./AiHealth.ts"
import { makeModelChat } from "./calls/ModelChatCalls.ts"
import { ProviderName } from "./models/Model.ts"
import { makeModelQueries } from "./models/ModelQueries.ts"
import { makeModelChoice } from "./ReachableModels.ts"

/** Models of all providers: health, catalog queries, and chat with fallback. */
export class AiLayer extends Effect.Service<AiLayer>()("@berth/AiLayer", {
  scoped: Effect.gen(function* () {
    const choice = yield* makeModelChoice
    const { health } = yield* makeAiHealth
    const { findActivity, ...chat } = yield* makeModelChat(choice)
    return {
      health,
      ...(yield* makeModelQueries),
      resolve: choice.resolve,
      ...chat,
      /** Status of the configured providers in this process. */
      providers: Effect.fn("AiLayer.providers")(function* () {
        const { providers } = yield* Effect.merge(health())
        return yield* Effect.forEach(
          ProviderName.literals.flatMap((provider) => {
            const reachable = providers[provider]
            return reachable === undefined ? [] : [{ provider, reachable }]
          }),
          (checked) => Effect.map(findActivity(checked.provider), (activity) => ({ ...checked, ...activity }))
        )
      })
    }
  })
}) {}
