import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as App from "../support/WebApp.ts"
import { eventsOf } from "./Events.ts"
import * as s from "./Shapes.ts"
import { ownerWithAgent } from "./Scene.ts"

const messages = [{ role: "user", content: "hello" }]

layer(App.layer(), { excludeTestServices: true })("A streamed answer", (it) => {
  it.effect("of an agent comes in pieces, then whole, each with an id", () =>
    Effect.gen(function* () {
      const { web } = yield* App.WebApp
      const owner = yield* ownerWithAgent()
      const answer = yield* web({
        method: "POST",
        path: "/api/agent",
        as: owner,
        json: { message: "hello" },
        headers: { accept: "text/event-stream" }
      })
      assert.strictEqual(answer.status, 200)
      assert.match(answer.headers["content-type"] ?? "", /^text\/event-stream/)
      const events = eventsOf(answer)
      assert.deepStrictEqual(
        events.map(({ event }) => event),
        ["delta", "delta", "done"]
      )
      assert.deepStrictEqual(
        events.slice(0, 2).map(({ data }) => data),
        [{ text: "Echo: " }, { text: "hello" }]
      )
      s.assertShape(events[2]?.data, {
        sessionId: s.is(owner.conversation),
        reply: s.is("Echo: hello"),
        timestamp: s.epochMillis
      })
      const [first] = events
      const message = first?.id?.split(":")[0]
      assert.isTrue(s.id("msg")(message))
      assert.deepStrictEqual(
        events.map(({ id }) => id),
        [1, 2, 3].map((index) => `${message}:${index}`)
      )
    })
  )

  it.effect("of the AI layer comes in pieces, then whole", () =>
    Effect.gen(function* () {
      const { backend } = yield* App.WebApp
      const json = { messages, model: "gpt-4", stream: true }
      const answer = yield* backend({ method: "POST", path: "/api/ai/chat", json })
      assert.match(answer.headers["content-type"] ?? "", /^text\/event-stream/)
      assert.strictEqual(answer.headers["x-berth-provider"], "openai")
      const events = eventsOf(answer)
      assert.deepStrictEqual(
        events.map(({ event }) => event),
        ["delta", "delta", "done"]
      )
      s.assertShape(events[2]?.data, {
        id: s.id("cpl"),
        model: s.is("openai/gpt-4"),
        provider: s.is("openai"),
        message: { role: s.is("assistant"), content: s.is("Good day.") },
        usage: { promptTokens: s.is(7), completionTokens: s.is(3), totalTokens: s.is(10) },
        timestamp: s.timestamp,
        costUsd: s.is(0.000066)
      })
    })
  )
})
