import { BackendApi } from "@berth/api/BackendApi"
import type { CellModelEvent } from "@berth/api/cell/CellContract"
import { AgentIsNotInCell, CellOwner } from "@berth/api/cell/CellModelApi"
import { AgentRoster } from "@berth/domain/agents/AgentRoster"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import { TurnKeys } from "@berth/domain/interaction/TurnKeys"
import { HttpApiBuilder } from "@effect/platform"
import { Effect, Option, Stream } from "effect"
import { eventStream } from "../http/Sse.ts"

/** The AI layer for cells, metered on the cell's owner. */
export const layer = HttpApiBuilder.group(BackendApi, "cellModel", (handlers) =>
  Effect.gen(function* () {
    const agents = yield* AgentRoster
    const ai = yield* AiLayer
    const turnKeys = yield* TurnKeys

    return handlers.handle("complete", ({ payload }) =>
      Effect.gen(function* () {
        const owner = yield* CellOwner
        const agent = yield* agents.findOwned(owner, payload.agentId)
        if (Option.isNone(agent)) return yield* new AgentIsNotInCell()
        const opening = ai.open({
          messages: payload.messages,
          model: payload.model,
          options: {
            temperature: payload.temperature ?? undefined,
            maxTokens: payload.maxTokens ?? undefined,
            tools: payload.tools
          },
          caller: { userId: owner, agentId: payload.agentId }
        })
        const { agentId, messageId: turnId } = payload
        const answer = Stream.unwrapScoped(
          Effect.flatMap(opening, ({ events, ownKey }) =>
            Effect.as(turnKeys.note({ userId: owner, agentId, turnId, ownKey }), events)
          )
        )
        return eventStream(
          answer.pipe(
            Stream.map((event): CellModelEvent =>
              event.type === "done" ? { type: "done", model: event.model, provider: event.provider } : event
            ),
            Stream.catchAll((failure) => Stream.make<[CellModelEvent]>({ type: "error", message: failure.message })),
            Stream.map((data) => ({ event: data.type, data }))
          )
        )
      })
    )
  })
)
