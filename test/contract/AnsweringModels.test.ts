import type { Model } from "@berth/domain/ai/models/Model"
import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { TurnFailed, type TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { fakeModels, ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
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
  App.web({ method: "POST", path, as: owner, json: { message: "hello" }, headers })

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

layer(App.shared, { excludeTestServices: true })("The model that answered", (it) => {
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
      const owner = yield* createOwnerWithAgent()
      yield* send(owner, "/api/agent")
      const break_ = yield* breaking()
      yield* break_(send(owner, "/api/agent"))
      const { body } = yield* App.web({
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
          // An agent's model is known at the end of a new stream.
          if (name === "one" || plugin !== "agent") assert.deepStrictEqual(namesInHead(pieces), names)
          assert.hasAllKeys(lastOf(pieces)?.data, ["plugin", "timestamp", "payment"])
        }
      })
    )

  it.effect("The model that answered is the one of a fallback, not the one that was requested", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const json = { ...helloRequest, model: "anthropic/claude-opus-4-6" }
      const names = { model: "openai/gpt-4", provider: "openai" }
      const calls = [
        App.backend({ method: "POST", path: "/api/ai/chat", json }),
        App.backend({ method: "POST", path: "/v1/chat/completions", json }),
        App.backend({ method: "POST", path: "/v1/chat/completions", json: { ...json, stream: true } }),
        gatewayCall({ as, json })
      ]
      for (const call of calls) assert.deepStrictEqual(namesInHead(yield* withFallback(call)), names)
      const pieces = yield* withFallback(
        App.backend({ method: "POST", path: "/api/ai/chat", json: { ...json, stream: true } })
      )
      assert.deepStrictEqual(namesInHead(pieces), names)
      assert.deepInclude(lastOf(pieces)?.data, names)
    })
  )
})

layer(App.shared, { excludeTestServices: true })("The warning of an agent's model", (it) => {
  const provision = (as: App.SignedIn, json: object, headers = {}) =>
    App.web({ method: "POST", path: "/api/agents/provision", as, json: { name: "An agent", ...json }, headers })
  const unknown = { model: "custom", config: { customModel: 'acme/"never"' } }
  const withModels =
    (models: ReadonlyArray<Model>) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.flatMap(ModelProvidersTest, ({ withBehavior }) =>
        withBehavior({ catalog: Effect.succeed(models) })(effect)
      )

  it.effect("The answering model is named in place of the requested one, also for repetitions", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const key = { "idempotency-key": "one" }
      const made = yield* provision(as, unknown, key)
      assert.strictEqual(made.status, 201, made.text)
      assert.strictEqual(
        made.headers["warning"],
        String.raw`199 - "No configured provider serves acme/\"never\": openai/gpt-4 (openai) answers instead."`
      )
      const repeated = yield* provision(as, unknown, key)
      assert.strictEqual(repeated.headers["idempotent-replayed"], "true")
      assert.strictEqual(repeated.headers["warning"], made.headers["warning"])
    })
  )

  it.effect("The warning is absent where a platform key or the owner's own key serves the model", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      assert.notProperty((yield* provision(as, { model: "claude-opus-4-6" })).headers, "warning")
      const { withBehavior } = yield* ModelProvidersTest
      const ownKey = withBehavior({
        catalog: Effect.succeed(fakeModels.map((model) => ({ ...model, available: model.provider !== "openai" }))),
        keys: () => Effect.succeed({ openai: Redacted.make("sk-own") })
      })
      const mine = { model: "custom", config: { customModel: "openai/gpt-4" } }
      assert.notProperty((yield* ownKey(provision(as, mine))).headers, "warning")
    })
  )

  it.effect("The warning is sent with a changed configuration, and when no model answers", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const change = (json: object) =>
        App.web({ method: "PUT", path: `/api/agents/${owner.agent.id}/config`, as: owner, json })
      const changed = yield* change({ model: "custom", customModel: "acme/never" })
      assert.strictEqual(changed.status, 200, changed.text)
      assert.match(String(changed.headers["warning"]), /^199 - "No configured provider serves acme\/never: /)
      const none = yield* withModels(fakeModels.map((model) => ({ ...model, available: false })))(
        change({ temperature: 1 })
      )
      assert.strictEqual(
        none.headers["warning"],
        `199 - "No configured provider serves acme/never, and no other model answers."`
      )
      assert.notProperty((yield* change({ model: "gpt-4" })).headers, "warning")
    })
  )

  it.effect("The warning is shown in the console for the agent of the address", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const dashboard = App.web({ method: "GET", path: `/dashboard/agents/${owner.agent.id}/chat`, as: owner })
      yield* App.web({
        method: "PUT",
        path: `/api/agents/${owner.agent.id}/config`,
        as: owner,
        json: { model: "custom", customModel: "acme/never" }
      })
      assert.include((yield* dashboard).text, "No configured provider serves acme/never")
      const read = App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/config`, as: owner })
      assert.match(String((yield* read).headers["warning"]), /^199 - "No configured provider serves acme\/never: /)
      yield* App.web({
        method: "PUT",
        path: `/api/agents/${owner.agent.id}/config`,
        as: owner,
        json: { model: "gpt-4" }
      })
      assert.notInclude((yield* dashboard).text, "No configured provider")
      assert.notProperty((yield* read).headers, "warning")
    })
  )
})

layer(App.shared, { excludeTestServices: true })("The last event of a broken stream", (it) => {
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
        lastOf(yield* half(App.backend({ method: "POST", path: "/api/ai/chat", json })))?.data,
        "provider_failed"
      )
      const { text } = yield* half(App.backend({ method: "POST", path: "/v1/chat/completions", json }))
      assert.match(text, /data: \{"error":\{.*"code":"provider_unreachable"\},"traceId":"[0-9a-f]{32}"\}/)
    })
  )
})
