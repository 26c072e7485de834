import type { ModelAnswerEvent } from "@berth/api/gateway/plugins/ModelAnswersApi"
import { encodeTypedSseEvent } from "@berth/api/http/Sse"
import { readLast } from "@berth/domain/ai/streams/ChunkReader"
import { ModelAnswers } from "@berth/domain/gateway/plugins/ModelAnswers"
import { PluginFailed } from "@berth/domain/gateway/plugins/PluginRun"
import * as BackendModelAnswers from "@berth/infra/backend/BackendModelAnswers"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { createServer } from "node:http"
import { listenLocally } from "../../../../test/support/LocalServer.ts"

const delta: ModelAnswerEvent = { type: "delta", text: "Hi" }
const opened: ModelAnswerEvent = {
  type: "opened",
  id: "cpl_1",
  model: "openai/gpt-4",
  provider: "openai",
  ownKey: false,
  attempts: [],
  overheadMs: 1
}

const build = (backendUrl: string) =>
  Effect.map(
    Layer.build(BackendModelAnswers.layer({ backendUrl, internalApiKey: Redacted.make("k") })),
    Context.get(ModelAnswers)
  )

const hello = {
  messages: [{ role: "user", content: "Hello" }],
  caller: { userId: null, agentId: null }
} as const

it.scopedLive("BackendModelAnswers fails as unreachable without a backend", () =>
  Effect.gen(function* () {
    const { models, open } = yield* build("http://127.0.0.1:1")
    const failure = new PluginFailed({ reason: "the AI layer cannot be reached", kind: "unreachable" })
    assert.deepStrictEqual(yield* Effect.flip(open(hello)), failure)
    assert.deepStrictEqual(yield* Effect.flip(models), failure)
  })
)

it.scopedLive("BackendModelAnswers.open fails with its own failure when the backend is killed during an answer", () =>
  Effect.gen(function* () {
    const url = yield* listenLocally(
      createServer((_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(encodeTypedSseEvent(opened) + encodeTypedSseEvent(delta), () => response.destroy())
      })
    )
    const { open } = yield* build(url.origin)
    const { events } = yield* open(hello)
    assert.deepStrictEqual(
      yield* Effect.flip(readLast(events)),
      new PluginFailed({
        reason: "the AI layer broke off",
        kind: undefined,
        isUnavailable: false,
        retryAfter: undefined
      })
    )
  })
)
