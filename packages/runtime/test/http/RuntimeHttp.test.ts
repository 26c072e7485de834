import { runtimeBodyLimit, RuntimeStats } from "@berth/api/runtime/RuntimeContract"
import { RuntimeAgents } from "@berth/runtime/agents/RuntimeAgents"
import { ModelClient } from "@berth/runtime/ai/ModelClient"
import * as RuntimeHttp from "@berth/runtime/http/RuntimeHttp"
import * as Drain from "@berth/runtime/interaction/Drain"
import { Toolbox } from "@berth/runtime/skills/Toolbox"
import { TurnExecution } from "@berth/runtime/interaction/TurnExecution"
import { HttpClient, HttpClientRequest, HttpServer } from "@effect/platform"
import { NodeHttpClient, NodeHttpServer } from "@effect/platform-node"
import { afterAll, assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema, Stream } from "effect"
import { createServer } from "node:http"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { eventually } from "../../../../test/support/Eventually.ts"
import { fakeModels, noMcpServers, sampleAgent } from "../AgentSamples.ts"

const agentsDirectory = mkdtempSync(join(tmpdir(), "berth-runtime-http-"))
afterAll(() => rmSync(agentsDirectory, { recursive: true }))

const server = createServer()

const runtime = RuntimeHttp.layer({
  server,
  token: Redacted.make("own"),
  runtimeVersion: "1.2.3",
  startedAt: 42,
  agentsDirectory
}).pipe(
  Layer.provide(TurnExecution.Default),
  Layer.provide([Drain.layer, RuntimeAgents.Default, Layer.succeed(Toolbox, []), noMcpServers]),
  Layer.provide(
    Layer.succeed(
      ModelClient,
      fakeModels(() => Stream.make({ type: "done" as const, model: "m", provider: "p" }))
    )
  ),
  Layer.provideMerge(HttpServer.layerTestClient),
  Layer.provide(NodeHttpClient.layerWithoutAgent),
  Layer.provide(NodeHttpClient.makeAgentLayer()),
  Layer.provide(NodeHttpServer.layerServer(() => server, { port: 0, host: "127.0.0.1" }))
)

const turn = {
  agentId: "agt_1",
  sessionId: "s",
  messageId: "m",
  summary: null,
  fromOwner: true,
  memories: [],
  history: [],
  message: "a private word"
}

const json = (body: unknown) => HttpClientRequest.bodyUnsafeJson(body)
const text = (body: string) => HttpClientRequest.bodyText(body, "application/json")

const send = (request: HttpClientRequest.HttpClientRequest, token = "own") =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const response = yield* client.execute(
      token === ""
        ? request
        : HttpClientRequest.setHeader(request, "authorization", token.includes(" ") ? token : `Bearer ${token}`)
    )
    return { status: response.status, type: response.headers["content-type"], text: yield* response.text }
  })

layer(runtime, { excludeTestServices: true })("The runtime's listener", (it) => {
  it.effect("The runtime's listener rejects every request without the runtime's own token", () =>
    Effect.gen(function* () {
      for (const request of [
        HttpClientRequest.get("/health"),
        HttpClientRequest.get("/storage"),
        HttpClientRequest.get("/stats"),
        HttpClientRequest.put("/configuration").pipe(json({ agents: [sampleAgent] })),
        HttpClientRequest.post("/turns").pipe(json(turn)),
        HttpClientRequest.get("/nowhere")
      ])
        for (const token of ["", "other", "ownn", "Basic own", "Payment own"]) {
          const { status, type } = yield* send(request, token)
          assert.deepStrictEqual([request.url, token, status, type], [request.url, token, 401, "application/json"])
        }
    })
  )

  it.effect("The runtime's listener returns its health and its agents", () =>
    Effect.gen(function* () {
      const configured = yield* send(HttpClientRequest.put("/configuration").pipe(json({ agents: [sampleAgent] })))
      assert.containSubset(configured, { status: 204, text: "" })
      const health = yield* send(HttpClientRequest.get("/health"), "bearer own")
      assert.deepStrictEqual(JSON.parse(health.text), {
        status: "ok",
        runtimeVersion: "1.2.3",
        startedAt: 42,
        agents: ["agt_1"]
      })
    })
  )

  it.effect("The runtime's listener returns the bytes of all agents' files in blocks", () =>
    Effect.gen(function* () {
      const storage = () => Effect.map(send(HttpClientRequest.get("/storage")), ({ text }): unknown => JSON.parse(text))
      assert.deepStrictEqual(yield* storage(), { bytes: 0 })
      mkdirSync(join(agentsDirectory, "agt_1"))
      writeFileSync(join(agentsDirectory, "agt_1", "note"), "x".repeat(4097))
      assert.deepStrictEqual(yield* storage(), { bytes: 3 * 4096 })
    })
  )

  it.effect("The runtime's listener returns the figures of its process since the last reading", () =>
    Effect.gen(function* () {
      const read = Effect.flatMap(send(HttpClientRequest.get("/stats")), ({ text }) =>
        Schema.decode(Schema.parseJson(RuntimeStats))(text)
      )
      /** Blocks the event loop, then serves a request so that the measuring timer ticks. */
      const block = Effect.zipRight(
        Effect.sync(() => {
          const end = performance.now() + 300
          while (performance.now() < end);
        }),
        send(HttpClientRequest.get("/health"))
      )
      yield* read
      // The first tick after a reading begins the measurement.
      yield* block
      yield* block
      const blocked = yield* read
      assert.isAbove(blocked.lagMaximumSeconds, 0.2)
      assert.isAtMost(blocked.lagP99Seconds, blocked.lagMaximumSeconds + 0.001)
      assert.isAbove(blocked.utilization, 0)
      assert.isAbove(blocked.heapUsedBytes, 1_000_000)
      yield* eventually(read, ({ lagMaximumSeconds }) => lagMaximumSeconds < blocked.lagMaximumSeconds)
    })
  )

  it.effect("The runtime's listener answers a turn with a stream, and explains a rejected one", () =>
    Effect.gen(function* () {
      yield* send(HttpClientRequest.put("/configuration").pipe(json({ agents: [sampleAgent] })))
      const answer = yield* send(HttpClientRequest.post("/turns").pipe(json(turn)))
      assert.containSubset(answer, { status: 200, type: "text/event-stream" })
      assert.include(answer.text, `event: done\ndata: {"type":"done","reply":"","model":"m","provider":"p"}\n\n`)

      const elsewhere = yield* send(HttpClientRequest.post("/turns").pipe(json({ ...turn, agentId: "agt_2" })))
      assert.containSubset(elsewhere, { status: 404, type: "application/json" })
      const incomplete = yield* send(
        HttpClientRequest.post("/turns").pipe(
          json({ ...turn, sessionId: undefined, history: [{ role: "a private word" }] })
        )
      )
      assert.strictEqual(incomplete.status, 400)
      assert.include(incomplete.text, "sessionId is missing")
      assert.notInclude(incomplete.text, "a private word")
    })
  )

  it.effect("The runtime's listener rejects bodies that are no JSON or too large, and continues", () =>
    Effect.gen(function* () {
      const malformed = yield* send(HttpClientRequest.put("/configuration").pipe(text("{")))
      assert.containSubset(malformed, { status: 400, type: "application/json" })
      const large = yield* send(HttpClientRequest.post("/turns").pipe(text(" ".repeat(runtimeBodyLimit + 1))))
      assert.containSubset(large, { status: 413, type: "application/json" })
      const piece = new Uint8Array(1024 * 1024)
      const pieces = Stream.fromIterable(Array.from({ length: runtimeBodyLimit / piece.length + 1 }, () => piece))
      const unannounced = yield* send(HttpClientRequest.post("/turns").pipe(HttpClientRequest.bodyStream(pieces)))
      assert.containSubset(unannounced, { status: 413, type: "application/json" })
      assert.strictEqual((yield* send(HttpClientRequest.get("/nowhere"))).status, 404)
      assert.strictEqual((yield* send(HttpClientRequest.post("/health"))).status, 404)
      assert.strictEqual((yield* send(HttpClientRequest.get("/health"))).status, 200)
    })
  )
})
