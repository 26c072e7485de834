import * as BackendMemory from "@berth/runtime/skills/memory/BackendMemory"
import { Memory } from "@berth/runtime/skills/memory/Memory"
import { makeRecallTool, makeRememberTool } from "@berth/runtime/skills/memory/MemoryTools"
import { NodeHttpClient } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { makeFakeBackend } from "../../../../../test/fakes/FakeBackend.ts"
import { sampleAgent } from "../../AgentSamples.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

const someTurn = { ...sampleAgent, messageId: "msg_1" }

const make = (url: string) =>
  BackendMemory.layer({ backendUrl: url, token: Redacted.make("own") }).pipe(
    Layer.provide(NodeHttpClient.layer),
    Layer.build,
    Effect.map(Context.get(Memory)),
    Effect.map((memory) => ({
      remember: (text: string) => makeRememberTool(memory).run(JSON.stringify({ text }), someTurn),
      recall: (query: string, turn = someTurn) => makeRecallTool(memory).run(JSON.stringify({ query }), turn)
    }))
  )

it.scopedLive("BackendMemory stores and finds notes of an agent's turn with the runtime token", () =>
  Effect.gen(function* () {
    const backend = yield* makeFakeBackend
    const memory = yield* make(backend.url)
    assert.strictEqual(yield* memory.remember(" Mia likes\n tea. "), "It is noted.")
    assert.strictEqual(yield* memory.recall("tea"), "- 1970-01-01, note: Mia likes tea.")
    assert.strictEqual(yield* memory.recall("coffee"), "Nothing was found.")
    assert.strictEqual(yield* memory.recall("tea", { ...someTurn, id: AgentId.make("agt_2") }), "Nothing was found.")
    assert.deepStrictEqual(backend.memoryCalls[0], {
      path: "/internal/runtime/notes",
      token: "own",
      body: { agentId: AgentId.make("agt_1"), messageId: "msg_1", text: "Mia likes\n tea." }
    })
    assert.deepStrictEqual(backend.memoryCalls[1], {
      path: "/internal/runtime/recall",
      token: "own",
      body: { agentId: AgentId.make("agt_1"), messageId: "msg_1", query: "tea" }
    })
  })
)

it.scopedLive("BackendMemory sends no note that the backend would reject", () =>
  Effect.gen(function* () {
    const backend = yield* makeFakeBackend
    const memory = yield* make(backend.url)
    assert.include((yield* Effect.flip(memory.remember(" \n "))).reason, "empty")
    assert.include((yield* Effect.flip(memory.remember("x".repeat(2_001)))).reason, "longer than 2000")
    yield* memory.remember("x".repeat(2_000))
    yield* memory.recall("x".repeat(5_000))
    assert.strictEqual(backend.memoryCalls.length, 2)
  })
)

it.scopedLive("BackendMemory explains a failure in a sentence", () =>
  Effect.gen(function* () {
    const backend = yield* makeFakeBackend
    const memory = yield* make(backend.url)
    const reasons = Effect.all([Effect.flip(memory.remember("a")), Effect.flip(memory.recall("a"))]).pipe(
      Effect.map((failures) => failures.map(({ reason }) => reason))
    )
    backend.failMemoryWith(402, { error: "payment_required", message: "No units are left." })
    assert.deepStrictEqual(yield* reasons, ["No units are left.", "No units are left."])
    backend.failMemoryWith(500, "?")
    assert.deepStrictEqual(yield* reasons, Array(2).fill("The memory answered with status 500."))
    backend.failMemoryWith(200, { found: "?" })
    assert.strictEqual((yield* reasons)[1], "The memory answered in a way that is not understood.")
    const nowhere = yield* make("http://127.0.0.1:1")
    assert.strictEqual((yield* Effect.flip(nowhere.recall("a"))).reason, "The memory could not be reached.")
  })
)
