import { assert } from "@effect/vitest"
import { Chunk, Effect, Fiber, Option, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import { png } from "../support/Samples.ts"
import { aimockServer } from "../fakes/models/AimockServer.ts"
import type { ModelBehavior } from "../fakes/models/FakeOpenAi.ts"
import { readAllRuntimeTraces, readProcessEnvironment } from "./RuntimeProcesses.ts"
import { memberAt, textOrEmpty } from "./MainJobSteps.ts"
import { model, SharedBerth, type SharedBerthPart } from "./SharedBerth.ts"
import * as Records from "./ServiceDatabase.ts"
import { signUpClient } from "./WebClient.ts"
import { assertMatches } from "../support/Matching.ts"

export const ownerWithRunningAgent = Effect.gen(function* () {
  const { berth } = yield* SharedBerth
  const person = yield* signUpClient(berth.webUrl)
  yield* Records.insertSubscription(person.userId, "starter")
  const { id } = yield* person.provision("Ada", model)
  yield* person.untilRunning(id)
  return { ...person, agentId: id }
})

const times = (count: number, behavior: ModelBehavior): ReadonlyArray<ModelBehavior> =>
  Array.from({ length: count }, () => behavior)

const page = "<html><body><h1>Bad gateway</h1></body></html>"

const upstreamFailures = (apiKey: string): ReadonlyArray<readonly [string, ReadonlyArray<ModelBehavior>, RegExp]> => [
  [
    "a refused key",
    times(1, { type: "refuse", status: 401, error: { message: `Incorrect API key provided: ${apiKey}.` } }),
    /openai does not accept this service's account/
  ],
  [
    "a rate limit that lasts",
    times(1, { type: "refuse", status: 429, error: { message: "Slow down" }, headers: { "retry-after": "3600" } }),
    /openai limits its requests/
  ],
  [
    "an error that stays",
    times(3, { type: "refuse", status: 500, error: { message: "Oh no" } }),
    /openai is overloaded/
  ],
  [
    "a proxy's page that stays",
    times(3, { type: "raw", status: 502, contentType: "text/html", body: page }),
    /openai is overloaded/
  ],
  [
    "a page in place of an answer",
    times(1, { type: "raw", contentType: "text/html", body: page }),
    /openai gave an answer that cannot be read/
  ],
  [
    "an answer that is cut",
    times(1, { type: "break-off", pieces: ["Half ", "an "], by: "cutting" }),
    /openai cannot be reached/
  ],
  [
    "an answer without an end",
    times(1, { type: "break-off", pieces: ["Half "], by: "ending" }),
    /openai gave an answer that cannot be read/
  ]
]

export const upstreamModels: SharedBerthPart = (it) => {
  it.effect(
    "An upstream model answers the agent's owner, streamed too",
    Effect.fn(function* () {
      const { openai: upstream } = yield* SharedBerth
      const person = yield* ownerWithRunningAgent
      upstream.respondWith(
        { type: "answer", pieces: ["Grüß ", "Gott"] },
        { type: "answer", pieces: ["日", "本", " 🚢"] }
      )
      const { sessionId } = yield* person.chat("Good morning")
      const received = yield* Stream.runCollect(person.events("/api/agent", { message: "And in Japan?" }))
      const events = Chunk.toReadonlyArray(received).map(({ data, event }) => [
        event,
        memberAt(data, "text"),
        memberAt(data, "reply")
      ])
      assert.deepStrictEqual(events, [
        ["delta", "日", undefined],
        ["delta", "本", undefined],
        ["delta", " 🚢", undefined],
        ["done", undefined, "日本 🚢"]
      ])
      const { body } = upstream.received.at(-1) ?? { body: undefined }
      assert.strictEqual(memberAt(body, "model"), "gpt-4o-mini")
      const messages = memberAt(body, "messages")
      assert.deepStrictEqual(Array.isArray(messages) ? messages.slice(1) : [], [
        { role: "user", content: "Good morning" },
        { role: "assistant", content: "Grüß Gott" },
        { role: "user", content: "And in Japan?" }
      ])
      assertMatches(yield* person.raw("GET", `/api/agent?action=session&sessionId=${sessionId}`), {
        body: { session: { messageCount: 4 } }
      })
    })
  )

  it.effect(
    "An upstream model receives the files of a message, with the next message too",
    Effect.fn(function* () {
      const { openai: upstream } = yield* SharedBerth
      const person = yield* ownerWithRunningAgent
      const [image, text] = [
        yield* person.upload(person.agentId, "dot.png", png),
        yield* person.upload(person.agentId, "notes.md", new TextEncoder().encode("Ahoy ⚓"))
      ]
      const sent = yield* person.raw("POST", "/api/agent", { body: { message: "Look", attachments: [image, text] } })
      assertMatches(sent, { status: 200 })
      yield* person.chat("And now?")
      const content = [
        {
          type: "text",
          text: "Look\n\n[Attached image: dot.png]\n\nAttached file notes.md:\n```\nAhoy ⚓\n```"
        },
        { type: "image_url", image_url: { url: `data:image/png;base64,${Buffer.from(png).toString("base64")}` } }
      ]
      const received = upstream.received.slice(-2).map(({ body }) => {
        const messages = memberAt(body, "messages")
        return Array.isArray(messages) ? memberAt(messages[1], "content") : messages
      })
      assert.deepStrictEqual(received, [content, content])
    })
  )

  it.effect(
    "An upstream model that fails costs at most its output so far, and owner, log and metrics get the reason",
    Effect.fn(function* () {
      const { berth, openai: upstream } = yield* SharedBerth
      const person = yield* ownerWithRunningAgent
      let answered = 0
      let failed = 0
      // A success between two failures keeps the circuit breaker closed.
      const works = Effect.gen(function* () {
        assert.strictEqual((yield* person.chat("Well?")).reply, "You said: Well?")
        answered += 1
      })
      const silent = yield* ownerWithRunningAgent
      const before = upstream.received.length
      upstream.respondWith({ type: "hang" })
      const hanging = yield* Effect.fork(silent.raw("POST", "/api/agent", { body: { message: "Hello?" } }))
      yield* eventually(
        Effect.sync(() => upstream.received.length),
        (now) => now > before,
        { description: "the call that will hang" }
      )

      for (const [name, behaviors, words] of upstreamFailures(upstream.apiKey)) {
        yield* works
        upstream.respondWith(...behaviors)
        const response = yield* person.raw("POST", "/api/agent", { body: { message: `This meets ${name}` } })
        assertMatches([name, response], [name, { status: 500, body: { code: "message_unanswered" } }])
        assert.match(textOrEmpty(memberAt(response.body, "message")), words, name)

        yield* works
        upstream.respondWith(...behaviors)
        const sent = yield* person.raw("POST", "/api/chat", { body: { message: `This meets ${name} too` } })
        assertMatches([name, sent], [name, { status: 500, body: { error: "failed to send" } }])
        assert.match(textOrEmpty(memberAt(sent.body, "message")), words, name)

        yield* works
        upstream.respondWith(...behaviors)
        const received = Chunk.toReadonlyArray(
          yield* Stream.runCollect(person.events("/api/agent", { message: `This meets ${name} as a stream` }))
        )
        assertMatches([name, received.at(-1)], [name, { event: "error", data: { code: "message_unanswered" } }])
        failed += 3

        const shown = JSON.stringify([response.body, sent.body, received])
        assert.notInclude(shown, upstream.apiKey)
        assert.notInclude(shown, "<h1>")
        const line = (yield* berth.logs)
          .split("\n")
          .find(
            (one) =>
              one.includes("Message not answered") && one.includes(textOrEmpty(memberAt(response.body, "traceId")))
          )
        assert.match(line ?? "", words, name)
      }
      const { booked, ledger, used, ...outcomes } = yield* Records.readMessageAccounts(person.userId)
      assert.deepStrictEqual(outcomes, { answered, failed, replies: answered, pending: 0, open: 0 })
      // An answer that breaks off costs its prompt and its output so far.
      assert.deepStrictEqual([booked, ledger], [used, used])
      assert.isAtLeast(used, answered)
      assert.isAtMost(used, answered + failed)

      assertMatches(yield* Fiber.join(hanging), { status: 500, body: { code: "message_unanswered" } })
      assertMatches(yield* Records.readMessageAccounts(silent.userId), {
        answered: 0,
        failed: 1,
        used: 0,
        open: 0
      })
      assert.strictEqual((yield* silent.chat("Hello again")).reply, "You said: Hello again")
    })
  )

  it.effect(
    "The key of an upstream model is in no instance and no log",
    Effect.fn(function* () {
      const { berth, openai: upstream } = yield* SharedBerth
      yield* (yield* ownerWithRunningAgent).chat("Hello")
      const instances = yield* readAllRuntimeTraces(berth.place.dataDirectory)
      const environments = yield* Effect.forEach(
        instances.flatMap(({ pid }) => Option.toArray(pid)),
        readProcessEnvironment
      )
      assert.isAbove(environments.filter((found) => found.includes("BERTH_RUNTIME_TOKEN=")).length, 0)
      const everywhere = [...environments, ...instances.map(({ log }) => log), yield* berth.logs].join("\n")
      assert.isFalse(everywhere.includes(upstream.apiKey))
    })
  )

  it.effect(
    "An upstream model may be an independent mock server",
    Effect.fn(function* () {
      const { replaceOpenAi } = yield* SharedBerth
      const mock = yield* aimockServer
      yield* replaceOpenAi(mock.baseUrl)
      mock.on({ model: "gpt-4o-mini", userMessage: "What are you?" }, { content: "I am a mock, and proud of it." })
      const person = yield* ownerWithRunningAgent
      assert.strictEqual((yield* person.chat("What are you?")).reply, "I am a mock, and proud of it.")
      const received = yield* Stream.runCollect(person.events("/api/agent", { message: "What are you?" }))
      const deltas = Chunk.toReadonlyArray(received).filter(({ event }) => event === "delta")
      assert.strictEqual(
        deltas.map(({ data }) => textOrEmpty(memberAt(data, "text"))).join(""),
        "I am a mock, and proud of it."
      )
      assertMatches(Chunk.toReadonlyArray(received).at(-1), { event: "done" })
    }, Effect.scoped)
  )
}
