import { assert, layer } from "@effect/vitest"
import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { Effect, Metric, MetricState, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import * as App from "../support/TestApp.ts"
import { parseEvents } from "./ServerSentEvents.ts"
import * as s from "./ResponseShapes.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

/** Seconds of the requests with status 200 of a route by the `error` of their metric. */
const sumDurations = (route: string, error: string) =>
  Metric.unsafeSnapshot()
    .filter(({ metricKey: { name, tags } }) => {
      const labels = Object.fromEntries(tags.map(({ key, value }) => [key, value]))
      const { error: found = "", route: path, status } = labels
      return name === "http_server_request_duration_seconds" && path === route && status === "200" && found === error
    })
    .reduce((sum, { metricState }) => sum + (MetricState.isHistogramState(metricState) ? metricState.sum : 0), 0)

const messages = [{ role: "user", content: "hello" }]

layer(App.shared, { excludeTestServices: true })("A streamed answer", (it) => {
  it.effect("A streamed answer of an agent has delta events and one done event, each with an id", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const answer = yield* App.web({
        method: "POST",
        path: "/api/agent",
        as: owner,
        json: { message: "hello" },
        headers: { accept: "text/event-stream" }
      })
      assert.strictEqual(answer.status, 200)
      assert.match(answer.headers["content-type"] ?? "", /^text\/event-stream/)
      const events = parseEvents(answer)
      assert.deepStrictEqual(
        events.map(({ event }) => event),
        ["delta", "delta", "done"]
      )
      assert.deepStrictEqual(
        events.slice(0, 2).map(({ data }) => data),
        [{ text: "Echo: " }, { text: "hello" }]
      )
      s.assertShape(events[2]?.data, {
        sessionId: s.equalTo(owner.conversation),
        reply: s.equalTo("Echo: hello"),
        timestamp: s.recentEpochMillis,
        model: s.equalTo("sandbox/echo"),
        provider: s.equalTo("sandbox"),
        units: s.equalTo(1),
        costMicros: s.equalTo(0),
        durationMs: s.naturalNumber
      })
      const [first] = events
      const message = first?.id?.split(":")[0]
      assert.isTrue(s.prefixedId("msg")(message))
      assert.deepStrictEqual(
        events.map(({ id }) => id),
        [1, 2, 3].map((index) => `${message}:${index}`)
      )
    })
  )

  it.effect("A streamed answer of the AI layer has delta events and one done event", () =>
    Effect.gen(function* () {
      const json = { messages, model: "gpt-4", stream: true }
      const answer = yield* App.backend({ method: "POST", path: "/api/ai/chat", json })
      assert.match(answer.headers["content-type"] ?? "", /^text\/event-stream/)
      assert.strictEqual(answer.headers["x-provider"], "openai")
      const events = parseEvents(answer)
      assert.deepStrictEqual(
        events.map(({ event }) => event),
        ["delta", "delta", "done"]
      )
      s.assertShape(events[2]?.data, {
        id: s.prefixedId("cpl"),
        model: s.equalTo("openai/gpt-4"),
        provider: s.equalTo("openai"),
        message: { role: s.equalTo("assistant"), content: s.equalTo("Good day.") },
        usage: { promptTokens: s.equalTo(7), completionTokens: s.equalTo(3), totalTokens: s.equalTo(10) },
        timestamp: s.recentTimestamp,
        costUsd: s.equalTo(0.000066)
      })
    })
  )

  it.effect("The duration of a streamed request includes its whole response, also if the response breaks off", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* ModelProvidersTest
      const json = { messages, model: "gpt-4", stream: true }
      const done: ModelEvent<ProviderEnding> = { type: "done", usage: null, finishReason: "stop" }
      const slowly = (end: Effect.Effect<ModelEvent<ProviderEnding>>) =>
        Stream.fromIterable([Effect.succeed<ModelEvent<ProviderEnding>>({ type: "delta", text: "Good " }), end]).pipe(
          Stream.mapEffect((event) => event)
        )
      for (const [end, error] of [
        [Effect.delay(Effect.succeed(done), "300 millis"), ""],
        [Effect.delay(Effect.dieMessage("broken"), "300 millis"), "_OTHER"]
      ] as const) {
        const before = sumDurations("/api/ai/chat", error)
        const ask = Effect.exit(App.backend({ method: "POST", path: "/api/ai/chat", json }))
        yield* withBehavior({ chat: () => slowly(end) })(ask)
        yield* eventually(
          Effect.sync(() => sumDurations("/api/ai/chat", error) - before),
          (seconds) => seconds >= 0.3
        )
      }
    })
  )
})
