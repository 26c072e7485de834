import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { fakeModels, ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { Effect, Stream } from "effect"
import type { OwnerWithAgent } from "./OwnerFixtures.ts"
import { sql } from "../support/Sql.ts"
import { doneEvent } from "./TurnFixtures.ts"

export const withVision = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(ModelProvidersTest, ({ withBehavior }) =>
    withBehavior({
      catalog: Effect.succeed(fakeModels.map((model) => ({ ...model, tags: [...model.tags, "vision"] })))
    })(effect)
  )

export const receivedTurns = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const turns: Array<Turn> = []
    const { withBehavior } = yield* AgentManagerTest
    yield* withBehavior({
      chat: (_, turn) => {
        turns.push(turn)
        return Stream.fromIterable<TurnEvent>([{ type: "delta", text: "fine" }, doneEvent])
      }
    })(effect)
    return turns
  })

export const countStored = ({ agent }: OwnerWithAgent) =>
  Effect.map(sql`select id from attachments where agent_id = ${agent.id}`, (rows) => rows.length)
