import {
  runtimeNotesPath,
  runtimeModelPath,
  runtimeRecallPath,
  runtimeSpansPath
} from "@berth/api/runtime/RuntimeContract"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { freePort } from "../support/FreePort.ts"
import { sendHttpCall } from "../support/HttpCall.ts"
import * as App from "../support/TestApp.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"
import { inTaskTurn } from "./TurnFixtures.ts"

const port = Effect.runSync(Effect.cached(freePort))
const app = Layer.unwrapEffect(
  Effect.map(port, (free) => App.layer({ runtimeListener: { host: "127.0.0.1", port: free } }))
)

const send = (method: string, path: string, headers: Readonly<Record<string, string>> = {}, json: unknown = {}) =>
  Effect.flatMap(port, (free) =>
    sendHttpCall(
      `http://127.0.0.1:${free}`,
      method === "GET" ? { method, path, headers } : { method, path, headers, json }
    )
  )

layer(app, { excludeTestServices: true })("The runtime listener", (it) => {
  it.effect("The runtime listener serves the routes of runtimes to a runtime token, and to nothing else", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const token = Redacted.value(yield* (yield* InstanceRepository).ensureRuntimeToken(owner.user.id))
      const { internalKey } = yield* App.TestApp
      const as = (secret: string) => ({ authorization: `Bearer ${secret}` })
      yield* inTaskTurn(owner, (messageId) =>
        Effect.gen(function* () {
          const turn = { agentId: owner.agent.id, messageId }
          const note = { ...turn, text: "a note" }
          assert.strictEqual((yield* send("POST", runtimeNotesPath, as(token), note)).status, 204)
          const recalled = yield* send("POST", runtimeRecallPath, as(token), { ...turn, query: "note" })
          assert.strictEqual(recalled.status, 200, recalled.text)
          for (const secret of [internalKey, "other"])
            assert.strictEqual((yield* send("POST", runtimeNotesPath, as(secret), note)).status, 401)
        })
      )
      assert.strictEqual((yield* send("POST", runtimeModelPath)).status, 401)
    })
  )

  it.effect("The runtime listener takes bounded spans by runtime token", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const token = Redacted.value(yield* (yield* InstanceRepository).ensureRuntimeToken(owner.user.id))
      const span = {
        traceId: "0af7651916cd43dd8448eb211c80319c",
        spanId: "00f067aa0ba902b7",
        parentSpanId: "b7ad6b7169203331",
        name: "TurnExecution.answer",
        kind: "internal",
        startedAt: 0,
        endedAt: 1,
        attributes: [["gen_ai.agent.name", "Ada"]],
        exit: { type: "success" }
      }
      const many = (count: number, one: unknown) => Array.from({ length: count }, () => one)
      for (const [status, spans] of [
        [204, []],
        [204, many(128, span)],
        [400, many(129, span)],
        [400, [{ ...span, traceId: "0".repeat(32) }]],
        [400, [{ ...span, name: "x".repeat(129) }]],
        [400, [{ ...span, attributes: many(65, ["a", "b"]) }]],
        [400, [{ ...span, attributes: [["a", "x".repeat(2049)]] }]],
        [413, "x".repeat(1024 * 1024)]
      ] as const)
        assert.strictEqual(
          (yield* send("POST", runtimeSpansPath, { authorization: `Bearer ${token}` }, { spans })).status,
          status
        )
      assert.strictEqual((yield* send("POST", runtimeSpansPath, {}, { spans: [span] })).status, 401)
    })
  )

  it.effect("The runtime listener answers 404 to every other route of the backend, also with the internal key", () =>
    Effect.gen(function* () {
      const { internalKey } = yield* App.TestApp
      const headers = { authorization: `Bearer ${internalKey}` }
      for (const [method, path] of [
        ["GET", "/api/ai/models"],
        ["POST", "/api/ai/chat"],
        ["POST", "/v1/chat/completions"],
        ["GET", "/metrics"],
        ["GET", "/openapi.json"],
        ["GET", "/docs"],
        ["GET", "/health/live"],
        ["GET", "/api/ops/jobs"],
        ["GET", "/"]
      ] as const) {
        const { status } = yield* send(method, path, headers)
        assert.deepStrictEqual([path, status], [path, 404])
      }
    })
  )
})
