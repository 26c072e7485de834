import { Effect } from "effect"
import { makeAiHealth } from "./AiHealth.ts"
import { makeModelChat } from "./calls/ModelChatCalls.ts"
import { makeModelQueries } from "./models/ModelQueries.ts"
import { makeModelChoice } from "./ReachableModels.ts"

/** Models of all providers: health, queries of the catalog, and chat with fallback. */
export class AiLayer extends Effect.Service<AiLayer>()("@berth/AiLayer", {
  scoped: Effect.gen(function* () {
    const choice = yield* makeModelChoice
    return {
      ...(yield* makeAiHealth),
      ...(yield* makeModelQueries),
      resolve: choice.resolve,
      ...(yield* makeModelChat(choice))
    }
  })
}) {}
