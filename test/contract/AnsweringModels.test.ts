import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { TurnFailed, type TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { connectSocket, type SocketFrame } from "../support/SocketClient.ts"
import * as App from "../support/TestApp.ts"
import { gatewayCall, helloRequest, payForCall } from "./GatewayPayments.ts"
import { type OwnerWithAgent, createOwnerWithAgent } from "./OwnerFixtures.ts"
import { parseEvents } from "./ServerSentEvents.ts"

const streamed = { accept: "text/event-stream" }
const sandbox = { model: "sandbox/echo", provider: "sandbox" }

const namesInHead = ({ headers }: HttpCallResponse) => ({ model: headers["x-model"], provider: headers["x-provider"] })
const lastOf = (answer: HttpCallResponse) => parseEvents(answer).at(-1)

const send = (owner: OwnerWithAgent, path: string, headers = {}) =>
  Effect.flatMap(App.TestApp, ({ web }) =>
    web({ method: "POST", path, as: owner, json: { message: "hello" }, headers })
  )

const breaking = (beginning: ReadonlyArray<TurnEvent> = []) =>
  Effect.map(AgentManagerTest, ({ withBehavior }) =>
    withBehavior({
      chat: () =>
        Stream.concat(Stream.fromIterable(beginning), Stream.fail(new TurnFailed({ reason: "the model refused" })))
    })
  )

/** The preferred provider fails, so that the other one answers. */
const withFallback = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(ModelProvidersTest, ({ withBehavior }) =>
    withBehavior({
      chat: (model) =>
        model.startsWith("anthropic/")
          ? Stream.fail(new ProviderFailed({ provider: "anthropic", kind: "overloaded", reason: "busy" }))
          : Stream.make(
              { type: "delta", text: "Hi" } as const,
              { type: "done", usage: null, finishReason: "stop" } as const
            )
    })(effect)
  )

const plugins = [
  { plugin: "agent", json: { ...helloRequest, plugin: "agent" }, names: sandbox },
  { plugin: "generate-text", json: helloRequest, names: { model: "openai/gpt-4", provider: "openai" } },
  { plugin: "tts", json: { plugin: "tts", text: "Hello" }, names: { model: "sandbox/speech", provider: "sandbox" } },
  { plugin: "stt", json: { plugin: "stt", audio: "SUQzBwcH" }, names: { model: "sandbox/speech", provider: "sandbox" } }
]

layer(App.layer(), { excludeTestServices: true })("The model that answered", (it) => {
  for (const path of ["/api/agent", "/api/chat"])
    it.effect(`The model that answered is in the headers and done events of POST ${path}`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const whole = yield* send(owner, path)
        assert.deepStrictEqual(namesInHead(whole), sandbox)
        assert.notProperty(whole.body, "model")
        const pieces = yield* send(owner, path, streamed)
        const done = lastOf(pieces)
        assert.deepInclude(done?.data, sandbox)
        const resumed = yield* send(owner, path, { ...streamed, "last-event-id": `${done?.id?.split(":")[0]}:0` })
        assert.deepStrictEqual(namesInHead(resumed), sandbox)
        assert.deepStrictEqual(lastOf(resumed), done)
      })
    )

  it.effect("The model that answered is stored with the reply, as is the failure of a message", () =>
    Effect.gen(function* () {
      const { web } = yield* App.TestApp
      const owner = yield* createOwnerWithAgent()
      yield* send(owner, "/api/agent")
      const break_ = yield* breaking()
      yield* break_(send(owner, "/api/agent"))
      const { body } = yield* web({
        method: "GET",
        path: `/api/agent?action=session&sessionId=${owner.conversation}`,
        as: owner
      })
      const none = { model: null, provider: null }
      assert.containSubset(body["session"], {
        messages: [
          { role: "user", status: "answered", failure: null, ...none },
          { role: "assistant", failure: null, ...sandbox },
          { role: "user", status: "failed", failure: "the model refused", ...none }
        ]
      })
    })
  )

  it.scoped("The model that answered is named by the done frame of a WebSocket", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { appUrl } = yield* App.TestApp
      const client = yield* connectSocket({
        host: `127.0.0.1:${appUrl.port}`,
        path: `/agents/${owner.agent.id}/ws`,
        headers: { cookie: owner.cookie }
      })
      const ofType = (type: string) => (frame: SocketFrame) => frame["type"] === type
      client.send({ type: "chat", message: "hello" })
      assert.deepInclude(yield* client.until(ofType("done")), sandbox)
      const break_ = yield* breaking([{ type: "delta", text: "Half " }])
      const failed = yield* break_(
        Effect.gen(function* () {
          client.send({ type: "chat", message: "and again" })
          return yield* client.until(ofType("error"))
        })
      )
      assert.deepInclude(failed, { code: "message_unanswered" })
      assert.match(String(failed["traceId"]), /^[0-9a-f]{32}$/)
      client.send("no frame")
      const invalid = yield* client.until((frame) => frame["code"] === "frame_invalid")
      assert.match(String(invalid["traceId"]), /^[0-9a-f]{32}$/)
    })
  )

  for (const { json, names, plugin } of plugins)
    it.effect(`The model that answered is named by the gateway's ${plugin}, whole, streamed and repeated`, () =>
      Effect.gen(function* () {
        const as = yield* App.signInNewUser("pro")
        const whole = yield* gatewayCall({ as, json, headers: { "idempotency-key": "one" } })
        assert.deepStrictEqual(namesInHead(whole), names, whole.text)
        assert.notProperty(whole.body, "model")
        const repeated = yield* gatewayCall({ as, json, headers: { "idempotency-key": "one" } })
        assert.strictEqual(repeated.headers["idempotent-replayed"], "true")
        assert.deepStrictEqual(namesInHead(repeated), names)
        const paid = yield* payForCall({ json })
        for (const headers of [{}, streamed]) {
          const answer = yield* gatewayCall({ json, headers: { authorization: paid.authorization, ...headers } })
          assert.deepStrictEqual(namesInHead(answer), names, answer.text)
        }
        if (plugin === "tts" || plugin === "stt") return
        for (const name of ["one", "two"]) {
          const pieces = yield* gatewayCall({ as, json, headers: { "idempotency-key": name, ...streamed } })
          assert.deepInclude(lastOf(pieces)?.data, names)
        }
      })
    )

  it.effect("The model that answered is the one of a fallback, not the one that was requested", () =>
    Effect.gen(function* () {
      const { backend } = yield* App.TestApp
      const as = yield* App.signInNewUser("pro")
      const json = { ...helloRequest, model: "anthropic/claude-opus-4-6" }
      const names = { model: "openai/gpt-4", provider: "openai" }
      const calls = [
        backend({ method: "POST", path: "/api/ai/chat", json }),
        backend({ method: "POST", path: "/v1/chat/completions", json }),
        backend({ method: "POST", path: "/v1/chat/completions", json: { ...json, stream: true } }),
        gatewayCall({ as, json })
      ]
      for (const call of calls) assert.deepStrictEqual(namesInHead(yield* withFallback(call)), names)
      const pieces = yield* withFallback(
        backend({ method: "POST", path: "/api/ai/chat", json: { ...json, stream: true } })
      )
      assert.deepStrictEqual(namesInHead(pieces), names)
      assert.deepInclude(lastOf(pieces)?.data, names)
    })
  )
})

layer(App.layer(), { excludeTestServices: true })("The last event of a broken stream", (it) => {
  const assertTraced = (data: unknown, code: string) => {
    assert.deepInclude(data, { code })
    assert.match(JSON.stringify(data), /"traceId":"[0-9a-f]{32}"/)
  }

  it.effect("The last event of a broken stream has a code and a trace id, of agents", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const break_ = yield* breaking([{ type: "delta", text: "Half " }])
      assertTraced(lastOf(yield* break_(send(owner, "/api/agent", streamed)))?.data, "message_unanswered")
      assertTraced(lastOf(yield* break_(send(owner, "/api/chat", streamed)))?.data, "chat_failed")
    })
  )

  it.effect("The last event of a broken stream has a code and a trace id, of the gateway and the AI layer", () =>
    Effect.gen(function* () {
      const { backend } = yield* App.TestApp
      const { withBehavior } = yield* ModelProvidersTest
      const as = yield* App.signInNewUser("pro")
      const half = withBehavior({
        chat: () =>
          Stream.concat(
            Stream.make({ type: "delta", text: "Half " } as const),
            Stream.fail(new ProviderFailed({ provider: "openai", kind: "unreachable", reason: "gone" }))
          )
      })
      assertTraced(lastOf(yield* half(gatewayCall({ as, headers: streamed })))?.data, "plugin_failed")
      const json = { ...helloRequest, model: "openai/gpt-4", stream: true }
      assertTraced(
        lastOf(yield* half(backend({ method: "POST", path: "/api/ai/chat", json })))?.data,
        "provider_failed"
      )
      const { text } = yield* half(backend({ method: "POST", path: "/v1/chat/completions", json }))
      assert.match(text, /data: \{"error":\{.*"code":"provider_unreachable"\},"traceId":"[0-9a-f]{32}"\}/)
    })
  )
})
