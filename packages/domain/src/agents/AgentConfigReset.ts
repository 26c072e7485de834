import { Effect } from "effect"
import { Outbox } from "../jobs/Outbox.ts"
import type { UserId } from "../shared/UserId.ts"
import { defaultAgentConfig } from "./Agent.ts"
import { ReconfigureInstanceJob } from "./AgentJobs.ts"
import { AgentRepository } from "./AgentRepository.ts"

export class AgentConfigReset extends Effect.Service<AgentConfigReset>()("@berth/AgentConfigReset", {
  effect: Effect.gen(function* () {
    const agents = yield* AgentRepository
    const outbox = yield* Outbox

    /** A job applies the configurations to the instance. Joins the running transaction. */
    const resetAll = Effect.fn("AgentConfigReset.resetAll")(function* (ownerId: UserId) {
      const owned = yield* agents.listOwned(ownerId)
      yield* Effect.forEach(owned, ({ id }) => agents.updateConfiguration(id, { config: defaultAgentConfig }), {
        discard: true
      })
      yield* outbox.append(ReconfigureInstanceJob, { userId: ownerId }, ownerId)
    })

    return { resetAll }
  })
}) {}
