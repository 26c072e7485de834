import { encodeTypedSseEvent } from "@berth/api/http/Sse"
import { streamFromOpened } from "@berth/domain/ai/streams/ChunkSource"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import type { TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { UserId } from "@berth/domain/shared/UserId"
import * as BackendAgentManager from "@berth/infra/backend/BackendAgentManager"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Stream } from "effect"
import { createServer } from "node:http"
import { listenLocally } from "../../../../test/support/LocalServer.ts"
import { sampleTurn } from "../../../../test/support/SampleTurn.ts"

const done: TurnEvent = { type: "done", reply: "a", model: "m" }
it.scopedLive(
  "BackendAgentManager.chat keeps its connection between turns, and sends a turn again when the backend has ended it",
  () =>
    Effect.gen(function* () {
      const connections: Array<unknown> = []
      const ended = new Set<unknown>()
      const url = yield* listenLocally(
        createServer((request, response) => {
          connections.push(request.socket)
          if (ended.has(request.socket)) request.socket.destroy()
          else response.end(encodeTypedSseEvent(done))
        })
      )
      const { chat } = Context.get(
        yield* Layer.build(BackendAgentManager.layer({ backendUrl: url.origin, internalApiKey: Redacted.make("k") })),
        AgentManager
      )
      const send = Stream.runDrain(streamFromOpened(chat(UserId.make("usr_1"), sampleTurn)))
      yield* Effect.replicateEffect(send, 3)
      assert.strictEqual(new Set(connections).size, 1)
      ended.add(connections[0])
      yield* send
      assert.lengthOf(connections, 5)
    })
)
