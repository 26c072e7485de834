import type { CellStreamProblem } from "@berth/api/cell/CellStream"
import { AgentRuntime, type CellAccess, RuntimeIsUnreachable, TurnFailed } from "@berth/domain/instances/AgentRuntime"
import * as HttpClient from "@effect/platform/HttpClient"
import { Effect, Layer, Match, Stream } from "effect"
import * as CellClient from "./CellClient.ts"

/** Agents on Berth's own runtime: the cells are asked over HTTP, each with its own token. */
export const layer: Layer.Layer<AgentRuntime, never, HttpClient.HttpClient> = Layer.effect(
  AgentRuntime,
  Effect.map(HttpClient.HttpClient, (http) => {
    const client = CellClient.make(http)
    return AgentRuntime.of({
      configure: Effect.fn("AgentRuntime.configure")((access, agents) =>
        client.configure(addressee(access), { agents }).pipe(Effect.mapError(unreachable))
      ),
      chat: (access, turn) =>
        client.turn(addressee(access), turn).pipe(
          Stream.mapError(toChatError),
          Stream.withSpan("AgentRuntime.chat", {
            attributes: { "agent.id": turn.agentId, "user.id": access.cell.owner }
          })
        )
    })
  })
)

const addressee = ({ cell, token }: CellAccess): CellClient.CellAddressee => ({ endpoint: cell.endpoint, token })

const unreachable = (error: CellClient.CellDoesNotAnswer | CellClient.CellRefused) =>
  error._tag === "CellRefused"
    ? new RuntimeIsUnreachable({ reason: error.message })
    : new RuntimeIsUnreachable({ reason: error.reason, unsent: error.unsent })

/** A turn that the cell has looked at and turned down failed; anything else means that the cell is not what it should be. */
const toChatError = Match.typeTags<
  CellClient.CellDoesNotAnswer | CellClient.CellRefused | CellStreamProblem,
  RuntimeIsUnreachable | TurnFailed
>()({
  CellDoesNotAnswer: unreachable,
  CellRefused: (error) =>
    error.status === 400 || error.status === 404 || error.status === 413
      ? new TurnFailed({ reason: error.message })
      : unreachable(error),
  Cut: () => new RuntimeIsUnreachable({ reason: "the answer was cut off" }),
  Nonsense: () => new RuntimeIsUnreachable({ reason: "the answer is not understood" }),
  Failed: ({ message }) => new TurnFailed({ reason: message })
})
