import { BackendApi } from "@berth/api/BackendApi"
import { requestExamples } from "@berth/api/http/RequestExamples"
import { WebApi } from "@berth/api/WebApi"
import { DomainEvent } from "@berth/domain/events/DomainEvent"
import { ApiKeyScope } from "@berth/domain/sessions/ApiKeyScope"
import { idempotentRoutes } from "@berth/server/http/IdempotencyMiddleware"
import { liveContentTypes } from "@berth/domain/provisioning/live-streams/LiveFile"
import { AttachmentType } from "@berth/domain/interaction/attachments/Attachment"
import { healthPaths, type KnownRoute, listRoutes } from "@berth/server/http/RouteTable"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { eventually } from "../support/Eventually.ts"
import { lintMetrics } from "../support/MetricLint.ts"
import * as App from "../support/TestApp.ts"
import { errorRows } from "./ErrorRows.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

const Content = Schema.Record({
  key: Schema.String,
  value: Schema.Struct({
    schema: Schema.Unknown,
    example: Schema.optional(Schema.Unknown),
    examples: Schema.optional(
      Schema.Record({
        key: Schema.String,
        value: Schema.Struct({ $ref: Schema.optional(Schema.String), value: Schema.optional(Schema.Unknown) })
      })
    )
  })
})

const Operation = Schema.Struct({
  operationId: Schema.NonEmptyString,
  summary: Schema.NonEmptyTrimmedString,
  description: Schema.NonEmptyTrimmedString,
  "x-required-scope": Schema.optional(ApiKeyScope),
  parameters: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      in: Schema.Literal("path", "query", "header", "cookie"),
      required: Schema.Boolean,
      schema: Schema.Object
    })
  ),
  security: Schema.Array(Schema.Record({ key: Schema.String, value: Schema.Array(Schema.String) })),
  requestBody: Schema.optional(
    Schema.Struct({
      required: Schema.Boolean,
      content: Schema.Record({
        key: Schema.String,
        value: Schema.Struct({ schema: Schema.Object, example: Schema.optional(Schema.Unknown) })
      })
    })
  ),
  responses: Schema.Record({
    key: Schema.String.pipe(Schema.pattern(/^([1-5]\d\d|default)$/)),
    value: Schema.Struct({ description: Schema.NonEmptyString, content: Schema.optional(Content) })
  })
})
type Operation = typeof Operation.Type

const Webhook = Schema.Struct({
  post: Schema.Struct({
    operationId: Schema.NonEmptyString,
    summary: Schema.NonEmptyString,
    parameters: Schema.Array(Schema.Struct({ name: Schema.String, in: Schema.Literal("header") })),
    requestBody: Schema.Struct({
      content: Schema.Struct({ "application/json": Schema.Struct({ schema: Schema.Object }) })
    })
  })
})

const Document = Schema.Struct({
  openapi: Schema.Literal("3.1.0"),
  info: Schema.Struct({ title: Schema.NonEmptyString, version: Schema.NonEmptyString }),
  paths: Schema.Record({
    key: Schema.String.pipe(Schema.startsWith("/")),
    value: Schema.Record({
      key: Schema.String.pipe(Schema.pattern(/^(get|post|put|patch|delete|options|head)$/)),
      value: Operation
    })
  }),
  tags: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      "x-displayName": Schema.String.pipe(
        Schema.pattern(/^(A2A|AI|API|MCP|OAuth|OpenAI|[A-Z][a-z]+)( ([a-z]+|A2A))*$/)
      ),
      description: Schema.NonEmptyString
    })
  ),
  webhooks: Schema.optional(Schema.Record({ key: Schema.String, value: Webhook })),
  components: Schema.Struct({
    schemas: Schema.Record({ key: Schema.String.pipe(Schema.pattern(/^[\w.-]+$/)), value: Schema.Object }),
    examples: Schema.Record({
      key: Schema.String.pipe(Schema.pattern(/^[\w.-]+$/)),
      value: Schema.Struct({ summary: Schema.NonEmptyString, value: Schema.Object })
    }),
    securitySchemes: Schema.Record({
      key: Schema.String,
      value: Schema.Struct({ type: Schema.Literal("apiKey", "http"), name: Schema.optional(Schema.String) })
    })
  })
})
type Document = typeof Document.Type

const removed = new Set(errorRows.flatMap(({ code, route }) => (code === "deprecated" ? [route] : [])))
const isOffered = ({ method, path }: KnownRoute) => !new Set<string>(removed).has(`${method} ${path}`)

const apis = { web: listRoutes(WebApi).filter(isOffered), backend: listRoutes(BackendApi) } as const

const documented = { web: [...apis.web, ...healthPaths], backend: [...apis.backend, ...healthPaths] } as const

const documentOf = (listener: keyof typeof apis) =>
  Effect.gen(function* () {
    const app = yield* App.TestApp
    const { headers, status, text } = yield* app[listener]({ method: "GET", path: "/openapi.json" })
    assert.strictEqual(status, 200)
    assert.match(headers["content-type"] ?? "", /^application\/json/)
    return { text, document: yield* Schema.decode(Schema.parseJson(Document))(text) }
  })

const templateOf = (path: string) => path.replace(/:(\w+)/g, "{$1}")

const operationOf = (document: Document, { method, path }: Pick<KnownRoute, "method" | "path">): Operation => {
  const operation = Object.entries(document.paths[templateOf(path)] ?? {}).find(
    ([name]) => name === method.toLowerCase()
  )?.[1]
  if (operation === undefined) assert.fail(`${method} ${path} is not in the document`)
  return operation
}

/** True for routes whose errors have the shape of A2A or OpenAI, which does not list codes. */
const isOfOtherProtocol = ({ path }: KnownRoute) => /^(\/v1\/|\/agents\/:id\/a2a(\/|$))/.test(path)

const errorExamplesOf = (document: Document, { responses }: Operation, status: string): ReadonlyArray<unknown> => {
  const { example, examples = {} } = responses[status]?.content?.["application/json"] ?? {}
  return [
    ...(example === undefined ? [] : [example]),
    ...Object.values(examples).map(({ $ref, value }) =>
      $ref === undefined ? value : document.components.examples[$ref.split("/").at(-1) ?? ""]?.value
    )
  ].filter((one) => one !== undefined)
}

/** Every value of the members with this name at any depth, through references. */
const valuesOf = (
  document: Document,
  value: unknown,
  name: string,
  seen = new Set<unknown>()
): ReadonlyArray<unknown> => {
  if (typeof value !== "object" || value === null || seen.has(value)) return []
  seen.add(value)
  return Object.entries(value).flatMap(([key, member]: [string, unknown]) => {
    const target = key === "$ref" ? document.components.schemas[String(member).split("/").at(-1) ?? ""] : member
    return [...(key === name ? [member] : []), ...valuesOf(document, target, name, seen)]
  })
}

layer(App.shared, { excludeTestServices: true })("The documentation", (it) => {
  for (const listener of ["web", "backend"] as const) {
    it.effect(`The documentation of the ${listener} listener is an OpenAPI 3.1 document of all its routes`, () =>
      Effect.gen(function* () {
        const { document } = yield* documentOf(listener)
        const operations = documented[listener].map((route) => ({ route, operation: operationOf(document, route) }))
        assert.strictEqual(
          Object.values(document.paths).flatMap((item) => Object.keys(item)).length,
          operations.length,
          "operations beside the routes"
        )
        const ids = operations.map(({ operation }) => operation.operationId)
        assert.strictEqual(new Set(ids).size, ids.length, "an operationId twice")
        for (const { operation, route } of operations) {
          const name = `${route.method} ${route.path}`
          assert.isTrue(
            Object.keys(operation.responses).some((status) => /^[234]/.test(status)),
            name
          )
          assert.deepStrictEqual(
            operation.parameters.filter((one) => one.in === "path").map((one) => one.name),
            [...route.path.matchAll(/:(\w+)/g)].map(([, parameter]) => parameter),
            name
          )
          for (const scheme of operation.security.flatMap((one) => Object.keys(one)))
            assert.property(document.components.securitySchemes, scheme, name)
          for (const type of route.bodyTypes) assert.property(operation.requestBody?.content, type, name)
        }
      })
    )

    it.effect(`The documentation of the ${listener} listener has servers, unique ids and common responses`, () =>
      Effect.gen(function* () {
        const { document, text } = yield* documentOf(listener)
        assert.deepInclude(JSON.parse(text), {
          servers: [{ url: "/", description: "The origin of this document" }]
        })
        const ids = [...text.matchAll(/"\$id":"([^"]+)"/g)].map(([, id]) => id)
        assert.deepStrictEqual(ids, [...new Set(ids)])
        for (const route of documented[listener]) {
          const { requestBody, responses } = operationOf(document, route)
          const codesOf = (status: string) =>
            valuesOf(document, responses[status], "code").flatMap((schema) => valuesOf(document, schema, "enum"))
          const name = `${route.method} ${route.path}`
          assert.include(codesOf("431").flat(), "headers_too_large", name)
          if (isOfOtherProtocol(route)) {
            const common = [
              ...(requestBody === undefined ? [] : ["413", "415"]),
              ...(listener === "web" ? ["403"] : [])
            ]
            assert.includeMembers(Object.keys(responses), common, name)
            for (const status of common)
              assert.notInclude(JSON.stringify(responses[status]), "#/components/schemas/", `${name}: ${status}`)
            continue
          }
          if (requestBody !== undefined) {
            assert.include(codesOf("413").flat(), "body_too_large", name)
            assert.include(codesOf("415").flat(), "media_type_unsupported", name)
          }
          if (listener === "web" && !["GET", "OPTIONS"].includes(route.method))
            assert.include(codesOf("403").flat(), "origin_not_allowed", name)
        }
      })
    )

    it.effect(`The documentation of the ${listener} listener has an example for every JSON body and every error`, () =>
      Effect.gen(function* () {
        const { document } = yield* documentOf(listener)
        for (const route of documented[listener]) {
          const { requestBody, responses } = operationOf(document, route)
          const successes = Object.entries(responses).flatMap(([status, response]) =>
            status.startsWith("2") ? [response.content] : []
          )
          for (const content of [requestBody?.content, ...successes])
            for (const [type, { example }] of Object.entries(content ?? {}))
              if (type.endsWith("json")) assert.isDefined(example, `${route.method} ${route.path}`)
        }
        const missing = documented[listener].flatMap((route) => {
          const operation = operationOf(document, route)
          return Object.entries(operation.responses).flatMap(([status, { content }]) =>
            content?.["application/json"] !== undefined && errorExamplesOf(document, operation, status).length === 0
              ? [`${route.method} ${route.path}: ${status}`]
              : []
          )
        })
        assert.deepStrictEqual(missing, [])
        const errors = Object.entries(document.components.schemas).filter(
          ([name, schema]) => valuesOf(document, schema, "traceId").length > 0 && !name.endsWith("LogEntry")
        )
        assert.isAbove(errors.length, 20)
        const isExample = Schema.is(
          Schema.Struct({ error: Schema.Unknown, message: Schema.NonEmptyString, code: Schema.NonEmptyString })
        )
        for (const [name, schema] of errors) {
          const [examples] = valuesOf(document, schema, "examples")
          assert.isTrue(Array.isArray(examples) && examples.every(isExample), name)
        }
      })
    )

    it.effect(`The documentation of the ${listener} listener has no dangling references`, () =>
      Effect.gen(function* () {
        const { document, text } = yield* documentOf(listener)
        const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference ?? "")
        assert.isAbove(references.length, 0)
        for (const reference of references) {
          const [, kind, name = ""] = /^#\/components\/(schemas|examples)\/([\w.-]+)$/.exec(reference) ?? []
          assert.property(document.components[kind === "examples" ? "examples" : "schemas"], name, reference)
        }
      })
    )

    it.effect(
      `The documentation of the ${listener} listener can be browsed at /docs, compressed and cached, without others' addresses`,
      () =>
        Effect.gen(function* () {
          const app = yield* App.TestApp
          const page = yield* app[listener]({ method: "GET", path: "/docs" })
          assert.strictEqual(page.status, 200)
          assert.match(page.headers["content-type"] ?? "", /^text\/html/)
          assert.include(page.text, "<html")
          assert.notMatch(page.text, /<(script|link|img)[^>]+(src|href)="https?:/)
          const { etag = "" } = page.headers
          const known = yield* app[listener]({ method: "GET", path: "/docs", headers: { "if-none-match": etag } })
          assert.deepStrictEqual([known.status, known.text], [304, ""])
          const headers = { "accept-encoding": "gzip" }
          const packed = yield* app[listener]({ method: "GET", path: "/docs", headers })
          assert.deepInclude(packed.headers, { "content-encoding": "gzip", vary: "accept-encoding" })
          assert.isBelow(Number(packed.headers["content-length"]), Buffer.byteLength(page.text) / 2)
          const front = yield* app[listener]({ method: "GET", path: "/" })
          const expected = listener === "web" ? [200, undefined] : [302, "/docs"]
          assert.deepStrictEqual([front.status, front.headers.location], expected)
        })
    )
  }

  it.effect(
    "The documentation has server-sent events as a media type of their own at every operation that streams",
    () =>
      Effect.gen(function* () {
        const streaming: Array<string> = []
        for (const listener of ["web", "backend"] as const) {
          const { document } = yield* documentOf(listener)
          for (const route of apis[listener]) {
            const content = operationOf(document, route).responses["200"]?.content ?? {}
            const types = Object.entries(content).flatMap(([type, { schema }]) =>
              JSON.stringify(schema).includes("/EventStream") ? [type] : []
            )
            if (types.length === 0) continue
            assert.deepStrictEqual(types, ["text/event-stream"], route.path)
            streaming.push(`${listener}: ${route.method} ${route.path}`)
          }
        }
        assert.deepStrictEqual(
          new Set(streaming),
          new Set([
            "backend: POST /api/ai/chat",
            "backend: POST /internal/gateway/answers",
            "backend: POST /internal/instances/:userId/turns",
            "backend: POST /internal/runtime/model",
            "backend: POST /v1/chat/completions",
            "web: GET /agents/:id/a2a/tasks/:taskId",
            "web: GET /api/agent/messages/:messageId/events",
            "web: GET /api/agents/overviews",
            "web: POST /agents/:id/a2a",
            "web: POST /agents/:id/a2a/:operation",
            "web: POST /agents/:id/a2a/tasks/:taskId",
            "web: POST /api/agent",
            "web: POST /api/chat",
            "web: POST /api/v1/gateway",
            "web: POST /mcp",
            "web: POST /v1/chat/completions",
            "web: POST /v1/responses"
          ])
        )
      })
  )

  it.effect("The documentation names the session cookie of this service", () =>
    Effect.gen(function* () {
      const { document } = yield* documentOf("web")
      const { cookieName } = yield* App.TestApp
      assert.strictEqual(document.components.securitySchemes["session"]?.name, cookieName)
    })
  )

  it.effect("The documentation opens request bodies, except those in which unknown members are refused", () =>
    Effect.gen(function* () {
      const { document } = yield* documentOf("web")
      const { schemas } = document.components
      const bodies = apis.web.flatMap((route) => {
        const { requestBody } = operationOf(document, route)
        return requestBody === undefined ? [] : [{ path: route.path, requestBody }]
      })
      assert.isAbove(bodies.length, 60)
      const isClosed = (value: unknown) => JSON.stringify(value).includes(`"additionalProperties":false`)
      assert.deepStrictEqual(
        bodies.flatMap(({ path, requestBody }) => (isClosed(requestBody) ? [path] : [])),
        []
      )
      const referred = bodies
        .flatMap(({ requestBody }) => valuesOf(document, requestBody, "$ref"))
        .map((reference) => String(reference).split("/").at(-1) ?? "")
      assert.deepStrictEqual(
        new Set(referred.filter((name) => isClosed(schemas[name]))),
        new Set([
          "AgentConfigChange",
          "BudgetInput",
          "ChannelInput",
          "ChannelsChange",
          "McpServerInput",
          "PlatformBInput"
        ])
      )
      assert.isTrue(isClosed(schemas["AgentConfigView"]), "a response")
    })
  )

  it.effect("The documentation opens error bodies, to which a group adds members", () =>
    Effect.gen(function* () {
      for (const listener of ["web", "backend"] as const) {
        const { schemas } = (yield* documentOf(listener)).document.components
        const isErrorBody = Schema.is(
          Schema.Struct({ properties: Schema.Struct({ code: Schema.Unknown, traceId: Schema.Unknown }) })
        )
        const errors = Object.entries(schemas).filter(([, schema]) => isErrorBody(schema))
        assert.isAbove(errors.length, 20)
        const closed = errors.filter(([, schema]) => JSON.stringify(schema).includes(`"additionalProperties":false`))
        assert.deepStrictEqual(
          closed.map(([name]) => name),
          []
        )
      }
    })
  )

  it.effect("The documentation gives the formats and ranges that requests are checked for", () =>
    Effect.gen(function* () {
      const { document } = yield* documentOf("web")
      const parameters = apis.web.flatMap((route) =>
        operationOf(document, route).parameters.map(({ name, schema }) => ({
          at: `${route.method} ${route.path} ${name}`,
          schema
        }))
      )
      const texts = parameters.filter(({ schema }) => JSON.stringify(schema).includes("decoded into a number"))
      assert.deepStrictEqual(texts, [])
      const ranges: ReadonlyArray<readonly [string, object]> = [
        ["GET /api/keys limit", { type: "integer", minimum: 1, maximum: 100 }],
        ["GET /api/keys offset", { type: "integer", minimum: 0 }],
        ["GET /agents/:id/a2a/tasks historyLength", { type: "integer", minimum: 0, maximum: 2_147_483_647 }],
        ["GET /live/:liveStreamId/:file _HLS_part", { type: "integer", minimum: 0 }],
        ["GET /api/auth/token-gating/verify address", { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" }]
      ]
      for (const [at, range] of ranges) assert.deepInclude(parameters.find((one) => one.at === at)?.schema, range, at)
      const bodyOf = (path: string) =>
        operationOf(document, { method: "POST", path }).requestBody?.content["application/json"]?.schema
      assert.containSubset(bodyOf("/api/auth/token-gating/verify"), {
        properties: { address: { pattern: "^0x[0-9a-fA-F]{40}$" } }
      })
      assert.containSubset(bodyOf("/api/auth/forgot-password"), { properties: { email: { format: "email" } } })
    })
  )

  it.effect("The documentation names every media type of attachments", () =>
    Effect.gen(function* () {
      const { document } = yield* documentOf("web")
      const path = "/api/agents/:id/attachments/:attachmentId"
      const { content = {} } = operationOf(document, { method: "GET", path }).responses["200"] ?? {}
      assert.deepStrictEqual(Object.keys(content), [...AttachmentType.literals])
    })
  )

  it.effect("The documentation names every media type of the files of live streams", () =>
    Effect.gen(function* () {
      const { document } = yield* documentOf("web")
      const { responses } = operationOf(document, { method: "GET", path: "/live/:liveStreamId/:file" })
      for (const status of ["200", "206"])
        assert.sameMembers(Object.keys(responses[status]?.content ?? {}), [...liveContentTypes])
    })
  )

  it.effect("The documentation has the errors of A2A and of OpenAI's protocol as they are", () =>
    Effect.gen(function* () {
      const { document } = yield* documentOf("web")
      const owner = yield* createOwnerWithAgent()
      const Shape = Schema.Struct({
        required: Schema.Array(Schema.String),
        properties: Schema.Record({ key: Schema.String, value: Schema.Unknown })
      })
      const rpc = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: {} }
      const foreign = { origin: "https://evil.example" }
      const calls = [
        { method: "POST", route: "/agents/:id/a2a", json: rpc },
        { method: "POST", route: "/agents/:id/a2a", json: rpc, as: owner },
        { method: "POST", route: "/agents/:id/a2a", json: rpc, headers: foreign },
        { method: "POST", route: "/agents/:id/a2a", body: "x", headers: { "content-type": "text/plain" }, as: owner },
        { method: "GET", route: "/agents/:id/a2a/tasks" },
        { method: "POST", route: "/v1/embeddings", json: {} },
        { method: "POST", route: "/v1/embeddings", json: {}, headers: foreign }
      ]
      const statuses: Array<number> = []
      for (const { method, route, ...call } of calls) {
        const answer = yield* App.web({ method, path: route.replace(":id", "agt_0"), ...call })
        const content = operationOf(document, { method, path: route }).responses[answer.status]?.content
        const { properties, required } = yield* Schema.decodeUnknown(Shape)(
          content?.[answer.headers["content-type"] ?? ""]?.schema
        )
        assert.includeMembers(Object.keys(answer.body), [...required], answer.text)
        assert.includeMembers(Object.keys(properties), Object.keys(answer.body), answer.text)
        statuses.push(answer.status)
      }
      assert.deepStrictEqual(statuses, [401, 404, 403, 404, 401, 401, 403])
    })
  )

  it.effect("The documentation has the media type of A2A for requests and successes of its HTTP+JSON binding", () =>
    Effect.gen(function* () {
      const { document } = yield* documentOf("web")
      const owner = yield* createOwnerWithAgent()
      const a2a = "application/a2a+json"
      const path = "/agents/:id/a2a/:operation"
      const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] }
      const sent = yield* App.web({
        method: "POST",
        path: path.replace(":id", owner.agent.id).replace(":operation", "message:send"),
        as: owner,
        body: JSON.stringify({ message }),
        headers: { "content-type": a2a, "a2a-version": "1.0" }
      })
      assert.deepStrictEqual([sent.status, sent.headers["content-type"]], [200, a2a], sent.text)
      const bodies: Array<string> = []
      for (const route of apis.web.filter(({ path }) => path.startsWith("/agents/:id/a2a/"))) {
        const { requestBody, responses } = operationOf(document, route)
        const name = `${route.method} ${route.path}`
        if (requestBody !== undefined) {
          assert.sameMembers(Object.keys(requestBody.content), ["application/json", a2a], name)
          bodies.push(name)
        }
        const types = Object.entries(responses).flatMap(([status, { content }]) =>
          status.startsWith("2") ? Object.keys(content ?? {}) : []
        )
        assert.deepStrictEqual(
          types.filter((type) => type !== "text/event-stream"),
          [a2a],
          name
        )
      }
      assert.deepStrictEqual(bodies, [`POST ${path}`, "POST /agents/:id/a2a/tasks/:taskId/pushNotificationConfigs"])
      const rpc = operationOf(document, { method: "POST", path: "/agents/:id/a2a" })
      assert.hasAllKeys(rpc.requestBody?.content, ["application/json"])
      assert.hasAllKeys(rpc.responses["200"]?.content, ["application/json", "text/event-stream"])
    })
  )

  it.effect("The documented request examples are accepted, or rejected for their documented reason", () =>
    Effect.gen(function* () {
      const { document } = yield* documentOf("web")
      const refusals: Array<readonly [string, unknown]> = []
      for (const { method, path } of apis.web) {
        const json = operationOf(document, { method, path }).requestBody?.content["application/json"]?.example
        if (json === undefined) continue
        const owner = yield* createOwnerWithAgent()
        const own = (text: string) =>
          text.replaceAll("agt_01jn8z5t7v", owner.agent.id).replaceAll("chs_01jn8z5t7v", owner.conversation)
        const target = path
          .replace(/(?<=agents\/|a2a\/):(id|agentId)\b/, owner.agent.id)
          .replace(":sessionId", owner.conversation)
          .replace(":userId", owner.user.id)
        const headers = { "content-type": "application/json", "a2a-version": "1.0" }
        const answer = yield* App.web({ method, path: target, as: owner, body: own(JSON.stringify(json)), headers })
        if (answer.status === 400) refusals.push([`${method} ${path}`, answer.body["code"]])
      }
      // Secrets and proofs, which an example cannot contain.
      assert.deepStrictEqual(refusals, [
        ["POST /api/auth/reset-password", "reset_token_invalid"],
        ["POST /api/settings/wallets", "wallet_proof_rejected"],
        ["POST /api/wallet/cdp", "private_key_invalid"],
        ["POST /api/agents/:id/verify/webauthn", "verification_rejected"]
      ])
    })
  )

  it.effect("The documentation describes the request of every outbound event with its payload", () =>
    Effect.gen(function* () {
      const { document } = yield* documentOf("web")
      const { webhooks = {} } = document
      assert.deepStrictEqual(
        Object.keys(webhooks),
        DomainEvent.members.map(({ fields }) => fields.kind.literals[0])
      )
      for (const [kind, { post }] of Object.entries(webhooks)) {
        const { schema } = post.requestBody.content["application/json"]
        assert.deepStrictEqual(valuesOf(document, schema, "enum")[0], [kind])
        assert.deepStrictEqual(
          post.parameters.map(({ name }) => name),
          ["webhook-id", "webhook-timestamp", "webhook-signature"]
        )
      }
    })
  )

  it.effect("The table of examples names operations only", () =>
    Effect.gen(function* () {
      const documents = [(yield* documentOf("web")).document, (yield* documentOf("backend")).document]
      const ids = documents.flatMap(({ paths }) =>
        Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId))
      )
      assert.includeMembers(ids, Object.keys(requestExamples))
    })
  )

  it.effect("The API description names the scope of every operation that accepts API keys", () =>
    Effect.gen(function* () {
      const { document } = yield* documentOf("web")
      for (const { method, path, scope } of apis.web) {
        const operation = operationOf(document, { method, path })
        const takesKeys = operation.security.some((schemes) => "apiKey" in schemes)
        assert.deepStrictEqual(
          [operation["x-required-scope"] ?? null, takesKeys],
          [scope ?? null, scope !== null],
          path
        )
      }
      assert.deepInclude(document.components.securitySchemes["apiKey"], { type: "http" })
    })
  )

  it.effect("The documentation has every status and code of the error table at its route, with an example", () =>
    Effect.gen(function* () {
      const documents = {
        web: (yield* documentOf("web")).document,
        backend: (yield* documentOf("backend")).document
      }
      // Any path can return these codes, so that no path lists them.
      const anywhere = new Set(["body_malformed"])
      const rows = errorRows.filter(({ route }) => !removed.has(route))
      const missing = rows.flatMap(({ code, listener = "web", route, status }) => {
        const [method = "", path = ""] = route.split(" ")
        const operation = operationOf(documents[listener], { method, path })
        const response = operation.responses[String(status)]
        const codes = valuesOf(documents[listener], response, "code").flatMap((schema) =>
          valuesOf(documents[listener], schema, "enum")
        )
        const examples = errorExamplesOf(documents[listener], operation, String(status))
        const exampleCodes = examples.flatMap((example) => valuesOf(documents[listener], example, "code"))
        return (codes.flat().includes(code) && exampleCodes.includes(code)) || anywhere.has(code)
          ? []
          : [`${route}: ${status} ${code}`]
      })
      assert.deepStrictEqual([...new Set(missing)], [])
    })
  )

  it.effect("The documentation has the responses of limits and idempotency keys", () =>
    Effect.gen(function* () {
      const { document } = yield* documentOf("web")
      const keyed = apis.web.flatMap((route) => {
        const { parameters } = operationOf(document, route)
        const keys = parameters.filter(({ name }) => name === "idempotency-key")
        assert.isAtMost(keys.length, 1)
        return keys.length === 0 ? [] : [`${route.method} ${route.path}`]
      })
      assert.deepStrictEqual(
        new Set(keyed),
        new Set(["POST /api/v1/gateway", ...idempotentRoutes, "POST /api/provision"])
      )
      const statuses = (method: string, path: string) => Object.keys(operationOf(document, { method, path }).responses)
      assert.includeMembers(statuses("POST", "/api/register"), ["200", "400", "409", "429", "500"])
      assert.includeMembers(statuses("POST", "/api/auth/callback/credentials"), ["200", "302", "400", "401", "429"])
      assert.includeMembers(statuses("POST", "/api/agents/provision"), ["201", "401", "402", "409", "422", "429"])
      assert.includeMembers(statuses("POST", "/api/provision"), ["200", "400", "409", "422", "429", "500", "502"])
      assert.includeMembers(statuses("POST", "/api/deployments"), [
        "200",
        "201",
        "401",
        "404",
        "409",
        "422",
        "429",
        "502"
      ])
    })
  )
})

layer(App.layer({ aiLayerIsPrivate: true }), { excludeTestServices: true })("The private listener", (it) => {
  const internal = apis.backend.filter(({ path }) => path.startsWith("/internal/") || path === "/api/provision")
  const ai = apis.backend.filter(({ path }) => path.startsWith("/api/ai/") || path.startsWith("/v1/"))

  it("The private listener has every route under one of its four paths", () => {
    assert.strictEqual(internal.length + ai.length, apis.backend.length)
    assert.isAbove(internal.length, 5)
  })

  for (const { method, path } of [...internal, ...ai])
    it.effect(`The private listener rejects ${method} ${path} without the key`, () =>
      Effect.gen(function* () {
        const { internalKey } = yield* App.TestApp
        const call = {
          method,
          path: path.replace(/:\w+/g, "x"),
          body: "{bad",
          headers: { "content-type": "application/json" }
        }
        const wrong = [
          undefined,
          "",
          internalKey,
          "Bearer",
          "Bearer wrong",
          `Basic ${internalKey}`,
          `XXXXXX ${internalKey}`,
          `Bearer ${internalKey}x`,
          `Bearer ${internalKey.slice(0, -1)}`
        ]
        for (const authorization of wrong) {
          const headers = authorization === undefined ? {} : { authorization }
          const answer = yield* App.backend({ ...call, headers: { ...call.headers, ...headers } })
          assert.strictEqual(answer.status, 401, `${authorization}: ${answer.text}`)
        }
      })
    )

  it.effect("The private listener accepts the key with its scheme in any case", () =>
    Effect.gen(function* () {
      const { internalKey } = yield* App.TestApp
      for (const scheme of ["Bearer", "bearer", "BEARER"]) {
        const headers = { authorization: `${scheme} ${internalKey}` }
        assert.strictEqual((yield* App.backend({ method: "GET", path: "/api/ai/models", headers })).status, 200)
        const started = yield* App.backend({ method: "POST", path: "/internal/instances/usr_0/start", headers })
        assert.strictEqual(started.status, 204, started.text)
      }
    })
  )

  it.effect("The private listener admits only runtime tokens at runtime routes", () =>
    Effect.gen(function* () {
      const { internalKey } = yield* App.TestApp
      const headers = { authorization: `Bearer ${internalKey}` }
      const answer = yield* App.backend({ method: "POST", path: "/internal/runtime/model", json: {}, headers })
      assert.deepStrictEqual([answer.status, answer.body["code"]], [401, "runtime_token_invalid"])
    })
  )

  it.effect("The private listener and the public one share no route", () =>
    Effect.gen(function* () {
      const { internalKey } = yield* App.TestApp
      const headers = { authorization: `Bearer ${internalKey}` }
      for (const path of ["/api/settings", "/api/agents", "/api/chat"])
        assert.strictEqual((yield* App.backend({ method: "GET", path, headers })).status, 404, path)
      for (const path of ["/metrics", "/api/ai/models", "/api/ai/health", "/internal/instances/usr_0/start"])
        assert.strictEqual((yield* App.web({ method: "GET", path, headers })).status, 404, path)
    })
  )
})

layer(App.shared, { excludeTestServices: true })("Health and metrics", (it) => {
  it.effect("Both listeners report that they are alive and ready", () =>
    Effect.gen(function* () {
      for (const ask of [App.web, App.backend]) {
        const live = yield* ask({ method: "GET", path: "/health/live" })
        const ready = yield* ask({ method: "GET", path: "/health/ready" })
        assert.deepStrictEqual([live.status, live.body], [200, { status: "ok" }])
        assert.deepStrictEqual([ready.status, ready.body], [200, { status: "ok", checks: { database: true } }])
      }
    })
  )

  it.effect("Neither listener is ready while the database does not respond, and both are alive", () =>
    Effect.gen(function* () {
      const { setDatabaseUp } = yield* App.TestApp
      yield* setDatabaseUp(false)
      for (const ask of [App.web, App.backend]) {
        const ready = yield* ask({ method: "GET", path: "/health/ready" })
        assert.deepStrictEqual(
          [ready.status, ready.body["status"], ready.body["checks"]],
          [503, "unavailable", { database: false }]
        )
        assert.strictEqual((yield* ask({ method: "GET", path: "/health/live" })).status, 200)
      }
      yield* setDatabaseUp(true)
    })
  )

  it.effect("/metrics requires the internal key of clients on another host", () =>
    Effect.gen(function* () {
      const call = { method: "GET", path: "/metrics" }
      assert.strictEqual((yield* App.backend({ ...call, from: "10.0.0.1" })).status, 401)
      assert.strictEqual((yield* App.backend({ ...call, headers: { authorization: "Bearer wrong" } })).status, 401)
      assert.strictEqual((yield* App.backend({ ...call, from: "127.0.0.1" })).status, 200)
    })
  )

  it.effect("Metrics count requests by route, without its parameters", () =>
    Effect.gen(function* () {
      const { internalKey } = yield* App.TestApp
      yield* App.web({ method: "GET", path: "/api/agents/agt_very-own?secret=1" })
      yield* App.web({ method: "GET", path: "/nowhere/very-own" })
      const authorization = `Bearer ${internalKey}`
      const duration =
        /^http_server_request_duration_seconds_bucket\{method="GET",route="none",status="404",scheme="http",le="\+Inf"\} \d+$/m
      // The duration is recorded after the response is sent.
      const { headers, status, text } = yield* eventually(
        App.backend({ method: "GET", path: "/metrics", headers: { authorization } }),
        (read) => duration.test(read.text)
      )
      assert.strictEqual(status, 200)
      assert.match(headers["content-type"] ?? "", /^text\/plain; version=0\.0\.4/)
      assert.match(text, /^http_requests_total\{method="GET",route="\/api\/agents\/:id",status="401"\} \d+$/m)
      assert.match(text, /^http_requests_total\{method="GET",route="none",status="404"\} \d+$/m)
      assert.match(text, /^berth_refusals_total\{code="route_not_found"\} \d+$/m)
      assert.notInclude(text, "very-own")
      assert.deepStrictEqual(yield* lintMetrics(text), [])
    })
  )

  it.effect("Request logs contain no query and no body", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      yield* App.web({
        method: "POST",
        path: "/api/auth/callback/credentials?password=in-query",
        json: { email: "logged@example.com", password: "in-body" },
        headers: { cookie: "berth=in-cookie", "x-request-id": "the-one" }
      })
      const lines = (yield* logLines).filter((line) => line.includes("the-one"))
      assert.isTrue(lines.some((line) => line.includes("/api/auth/callback/credentials")))
      for (const secret of ["in-query", "in-body", "in-cookie", "logged@example.com"])
        assert.notInclude((yield* logLines).join("\n"), secret)
      yield* App.web({ method: "GET", path: "/health/live", headers: { "x-request-id": "silent-one" } })
      assert.notInclude((yield* logLines).join("\n"), "silent-one")
    })
  )
})
