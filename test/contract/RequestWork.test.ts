import { gatewayPath } from "@berth/api/gateway/GatewayApi"
import { ModelCatalog } from "@berth/domain/ai/models/ModelProviders"
import { mapChunkFailure } from "@berth/domain/ai/streams/ChunkSource"
import { AgentRuntime, type Turn, TurnFailed } from "@berth/domain/instances/AgentRuntime"
import { makeSubdomain } from "@berth/domain/instances/Instance"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import * as ConfiguredModelProviders from "@berth/infra/ai/ConfiguredModelProviders"
import { fakeModels } from "@berth/infra/ai/ModelProvidersTest"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import * as BerthAgentRuntime from "@berth/infra/runtime/BerthAgentRuntime"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { RuntimeAgents } from "@berth/runtime/agents/RuntimeAgents"
import * as BackendModelClient from "@berth/runtime/ai/BackendModelClient"
import type { BackendAccess } from "@berth/runtime/Backend"
import * as RuntimeHttp from "@berth/runtime/http/RuntimeHttp"
import * as Drain from "@berth/runtime/interaction/Drain"
import { TurnExecution } from "@berth/runtime/interaction/TurnExecution"
import { McpBackend } from "@berth/runtime/skills/BackendCalls"
import { Toolbox } from "@berth/runtime/skills/Toolbox"
import { HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Context, DateTime, Duration, Effect, Layer, Redacted } from "effect"
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http"
import { listenLocally } from "../support/LocalServer.ts"
import * as App from "../support/TestApp.ts"
import { countWork, measureAllocation } from "../support/WorkCounter.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

/** Written in batches or polled, so not the work of one request. */
const background = /insert into (model_usage|answer_events|"limits"."windows")|from sessions where "id" IN/i

const model = "openai/gpt-4"
const messages = [{ role: "user", content: "hello" }]
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
const data = (value: object) => `data: ${JSON.stringify({ id: "c", ...value })}\n\n`
const modelDelta = data({ choices: [{ index: 0, delta: { content: "word " } }] })
const modelEnd = `${data({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage })}data: [DONE]\n\n`

/**
 * A vendor outside of Effect, whose work is not counted. It sends a delta after the client has received the previous
 * one.
 */
class Vendor {
  #deltas = 1
  #response: ServerResponse | undefined

  readonly server = createServer((incoming, response) => {
    incoming.resume().once("end", () => {
      this.#response = response.writeHead(200, { "content-type": "text/event-stream" })
      this.sendNext()
    })
  })

  begin(deltas: number) {
    this.#deltas = deltas
  }

  sendNext() {
    const response = this.#response
    this.#deltas -= 1
    if (this.#deltas >= 0) response?.write(modelDelta)
    if (this.#deltas > 0) return
    this.#response = undefined
    response?.end(modelEnd)
  }
}

const connections = new Agent({ keepAlive: true })

interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: object
  readonly status?: number
  readonly onText?: (text: string) => void
}

const send = (url: string, { headers = {}, json, method = "POST", onText, status = 200 }: Sent) =>
  new Promise<void>((resolve, reject) => {
    const body = json === undefined ? "" : JSON.stringify(json)
    const described =
      json === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
    request(url, { method, agent: connections, headers: { ...described, ...headers } })
      .once("error", reject)
      .once("response", (response: IncomingMessage) => {
        response.setEncoding("utf8")
        response.on("data", (received: string) => onText?.(received))
        response.once("error", reject)
        response.once("end", () =>
          response.statusCode === status ? resolve() : reject(new Error(`${url} answered ${response.statusCode}`))
        )
      })
      .end(body)
  })

const vendor = new Vendor()

const app = Layer.unwrapScoped(
  Effect.map(listenLocally(vendor.server), ({ origin }) =>
    App.layer({
      sendsSpans: false,
      limits: { gateway: { count: 1000, window: Duration.minutes(1) } },
      overrides: Layer.mergeAll(
        ConfiguredModelProviders.layer({ openai: { apiKey: Redacted.make("sk-test"), baseUrl: `${origin}/v1` } }),
        Layer.succeed(ModelCatalog, { all: Effect.succeed(fakeModels) })
      )
    })
  )
)

const noMcpServers = Layer.succeed(McpBackend, () => Effect.dieMessage("No MCP server"))

const startRuntime = (backend: BackendAccess, server: Server) =>
  RuntimeHttp.layer({ server, token: backend.token, runtimeVersion: "1", startedAt: 0, agentsDirectory: "" }).pipe(
    Layer.provide(TurnExecution.Default),
    Layer.provide([
      Drain.layer,
      RuntimeAgents.Default,
      BackendModelClient.layer(backend),
      noMcpServers,
      Layer.succeed(Toolbox, [])
    ]),
    Layer.provideMerge(NodeHttpServer.layerServer(() => server, { port: 0, host: "127.0.0.1" })),
    Layer.build,
    Effect.map((context) => HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address))
  )

const prepare = Effect.gen(function* () {
  const { backendUrl, webUrl } = yield* App.TestApp
  const owner = yield* createOwnerWithAgent()
  const instances = yield* InstanceRepository
  yield* instances.ensure(owner.user.id, makeSubdomain(owner.user.id))
  const token = yield* instances.ensureRuntimeToken(owner.user.id)
  const endpoint = yield* startRuntime({ backendUrl, token }, createServer())
  const runtime = Context.get(
    yield* Layer.build(Layer.provide(BerthAgentRuntime.layer, UnixSocketClient.layer)),
    AgentRuntime
  )
  const instance = { owner: owner.user.id, endpoint, startedAt: DateTime.unsafeMake(0), runtimeVersion: "1" }
  yield* runtime.configure({ instance, token }, [
    {
      id: owner.agent.id,
      name: "Ada",
      model,
      systemPrompt: null,
      temperature: null,
      maxTokens: 100,
      timezone: "UTC",
      skills: [],
      contextWindow: 8000
    }
  ])
  const toTurnFailed = ({ reason }: { readonly reason: string }) => new TurnFailed({ reason })
  const openChat = (_: unknown, turn: Turn) =>
    Effect.mapBoth(runtime.chat({ instance, token }, turn), {
      onFailure: toTurnFailed,
      onSuccess: (events) => mapChunkFailure(events, toTurnFailed)
    })
  const { cookie } = owner
  const read = (path: string) => () => send(webUrl + path, { method: "GET", headers: { cookie } })
  const ask = (url: string, sent: Sent) => (deltas: number) => {
    vendor.begin(deltas)
    return send(url, {
      ...sent,
      onText: (received) => (received.includes("word") ? vendor.sendNext() : undefined)
    })
  }
  const plain = (url: string, sent: Sent) => () => ask(url, sent)(1)
  const completion = ask(`${backendUrl}/v1/chat/completions`, { json: { model, messages, stream: true } })
  const turn = ask(`${webUrl}/api/agent`, {
    headers: { cookie, accept: "text/event-stream" },
    json: { message: "hello", agentId: owner.agent.id }
  })
  const unpaid = { headers: { "x-payment-method": "mpp" }, json: { messages, model }, status: 402 }
  return {
    openChat,
    /** With the limits of a request: operations, statements and new generator functions. */
    requests: [
      ["GET /health/live", read("/health/live"), 39, 0, 0],
      ["GET /api/auth/session", read("/api/auth/session"), 76, 1, 0],
      [
        "GET /api/auth/session, 401",
        () =>
          send(`${webUrl}/api/auth/session`, { method: "GET", headers: { authorization: "Bearer x" }, status: 401 }),
        173,
        1,
        0
      ],
      ["POST /api/v1/gateway, 402", () => send(webUrl + gatewayPath, unpaid), 102, 0, 0],
      [
        "POST /api/v1/gateway by card",
        plain(webUrl + gatewayPath, { headers: { cookie }, json: { messages, model } }),
        373,
        3,
        0
      ],
      ["POST /api/ai/chat", plain(`${backendUrl}/api/ai/chat`, { json: { model, messages } }), 131, 0, 0],
      [
        "POST /v1/chat/completions",
        plain(`${backendUrl}/v1/chat/completions`, { json: { model, messages } }),
        134,
        0,
        0
      ],
      ["POST /v1/chat/completions, streamed", () => completion(1), 212, 0, 0],
      ["POST /api/agent, streamed", () => turn(1), 1320, 8, 1]
    ] as const,
    /** With the limits of a further delta that arrives alone: operations, and bytes of the whole process. */
    streams: [
      ["POST /v1/chat/completions", completion, 24, 30_000],
      ["POST /api/agent", turn, 44, 80_000]
    ] as const
  }
})

it.scopedLive("The work of requests and deltas stays within its limits", () =>
  Effect.gen(function* () {
    const { leastOf } = yield* countWork
    const context = yield* Layer.build(app)
    yield* Effect.gen(function* () {
      const { openChat, requests, streams } = yield* prepare
      const { withBehavior } = yield* AgentManagerTest
      const measure = (doing: () => Promise<unknown>) => leastOf(6, doing).pipe(withBehavior({ openChat }))
      const exceeded: Array<string> = []
      const check = (name: string, measured: number, limit: number) => {
        if (measured > limit) exceeded.push(`${name}: ${measured} instead of ${limit}`)
      }
      for (const [name, doing, operations, statements, generators] of requests) {
        const work = yield* measure(doing)
        check(`operations of ${name}`, work.operations, operations)
        check(`generator functions of ${name}`, work.generators, generators)
        check(`statements of ${name}`, work.statements.filter((text) => !background.test(text)).length, statements)
      }
      for (const [name, stream, operations, bytes] of streams) {
        const [few, many] = [yield* measure(() => stream(10)), yield* measure(() => stream(30))]
        check(`operations of a delta of ${name}`, (many.operations - few.operations) / 20, operations)
        const allocated = yield* measureAllocation(() => stream(1000)).pipe(withBehavior({ openChat }))
        check(`bytes of a delta of ${name}`, Math.round(allocated / 1000), bytes)
      }
      assert.deepStrictEqual(exceeded, [])
    }).pipe(Effect.provide(context))
  })
)
