import { clientFrames, frameErrorCodes, serverFrames } from "@berth/api/interaction/AgentSocketDocument"
import { ClientFrame, ServerFrame, SocketClose } from "@berth/api/interaction/AgentSocketFrames"
import { assert, layer } from "@effect/vitest"
import { Effect, type ParseResult, Schema } from "effect"
import * as App from "../support/TestApp.ts"

const Message = Schema.Struct({
  name: Schema.String,
  payload: Schema.Struct({
    required: Schema.Array(Schema.String),
    properties: Schema.Struct({ type: Schema.Struct({ enum: Schema.Array(Schema.String) }) })
  }),
  examples: Schema.NonEmptyArray(Schema.Struct({ payload: Schema.Unknown }))
})
const References = Schema.Array(Schema.Struct({ $ref: Schema.String }))
const Operation = Schema.Struct({ action: Schema.String, messages: References })
const Document = Schema.Struct({
  asyncapi: Schema.Literal("3.0.0"),
  servers: Schema.Struct({
    app: Schema.Struct({ host: Schema.String, protocol: Schema.Literal("ws") }),
    instance: Schema.Struct({ host: Schema.String })
  }),
  channels: Schema.Struct({
    agent: Schema.Struct({
      address: Schema.Literal("/agents/{agentId}/ws"),
      "x-close-codes": Schema.Array(Schema.Struct({ code: Schema.Int, reason: Schema.NonEmptyString }))
    })
  }),
  operations: Schema.Struct({ receive: Operation, send: Operation }),
  components: Schema.Struct({
    messages: Schema.Record({ key: Schema.String, value: Message }),
    securitySchemes: Schema.Struct({ session: Schema.Struct({ name: Schema.String }) })
  })
})

type Decode = (payload: unknown) => Effect.Effect<{ readonly type: string }, ParseResult.ParseError>

const strictly = { onExcessProperty: "error" } as const

layer(App.shared, { excludeTestServices: true })("The description of the agents' WebSocket", (it) => {
  const document = Effect.gen(function* () {
    const { body, status, text } = yield* App.web({ method: "GET", path: "/asyncapi.json" })
    assert.strictEqual(status, 200)
    return { ...(yield* Schema.decodeUnknown(Document)(body)), body, text }
  })

  it.effect("The description of the agents' WebSocket has every frame with examples that the schemas accept", () =>
    Effect.gen(function* () {
      const { components, operations } = yield* document
      const namesOf = ({ messages }: typeof Operation.Type) => messages.map(({ $ref }) => $ref.split("/").at(-1) ?? "")
      assert.deepStrictEqual(namesOf(operations.receive), Object.keys(clientFrames))
      assert.deepStrictEqual(namesOf(operations.send), Object.keys(serverFrames))
      const sides: ReadonlyArray<readonly [Decode, number, typeof Operation.Type]> = [
        [Schema.decodeUnknown(ClientFrame, strictly), ClientFrame.members.length, operations.receive],
        [Schema.decodeUnknown(ServerFrame, strictly), ServerFrame.members.length, operations.send]
      ]
      for (const [decode, count, operation] of sides) {
        assert.strictEqual(operation.messages.length, count)
        for (const name of namesOf(operation)) {
          const message = components.messages[name]
          assert.deepStrictEqual(message?.payload.properties.type.enum, [name])
          for (const { payload } of message?.examples ?? []) {
            assert.deepInclude(yield* decode(payload), { type: name })
          }
        }
      }
    })
  )

  it.effect("The description of the agents' WebSocket names the session cookie of this service", () =>
    Effect.gen(function* () {
      const { cookieName } = yield* App.TestApp
      assert.strictEqual((yield* document).components.securitySchemes.session.name, cookieName)
    })
  )

  it.effect("The description of the agents' WebSocket has every close code and error code", () =>
    Effect.gen(function* () {
      const { channels, text } = yield* document
      const codes = channels.agent["x-close-codes"].map(({ code }) => code)
      for (const code of Object.values(SocketClose)) assert.include(codes, code)
      assert.includeMembers([...frameErrorCodes], ["frame_invalid", "units_exhausted", "message_unanswered"])
      for (const code of frameErrorCodes) assert.include(text, `"${code}"`)
    })
  )

  it.effect("The description of the agents' WebSocket names this service and has no dangling references", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const { body, servers, text } = yield* document
      assert.deepStrictEqual(
        [servers.app.host, servers.instance.host],
        [appUrl.host, `{subdomain}.agents.localhost:${appUrl.port}`]
      )
      const references = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? "")
      assert.isAbove(references.length, 20)
      for (const reference of references) {
        const target = reference
          .split("/")
          .reduce<unknown>((found, name) => Object.entries(found ?? {}).find(([key]) => key === name)?.[1], body)
        assert.isDefined(target, reference)
      }
    })
  )
})
