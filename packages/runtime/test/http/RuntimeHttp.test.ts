import { runtimeBodyLimit } from "@berth/api/runtime/RuntimeContract"
import { RuntimeAgents } from "@berth/runtime/agents/RuntimeAgents"
import { ModelClient } from "@berth/runtime/ai/ModelClient"
import * as RuntimeHttp from "@berth/runtime/http/RuntimeHttp"
import * as Drain from "@berth/runtime/interaction/Drain"
import { Toolbox } from "@berth/runtime/skills/Toolbox"
import { TurnExecution } from "@berth/runtime/interaction/TurnExecution"
import { HttpClient, HttpClientRequest } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Stream } from "effect"
import { sampleAgent } from "../AgentSamples.ts"

const cell = RuntimeHttp.layer({ token: Redacted.make("own"), runtimeVersion: "1.2.3", startedAt: 42 }).pipe(
  Layer.provide(TurnExecution.Default),
  Layer.provide([Drain.layer, RuntimeAgents.Default, Layer.succeed(Toolbox, [])]),
  Layer.provide(
    Layer.succeed(
      ModelClient,
      ModelClient.of({ answer: () => Stream.make({ type: "done" as const, model: "m", provider: "p" }) })
    )
  ),
  Layer.provideMerge(NodeHttpServer.layerTest)
)

const turn = {
  agentId: "agt_1",
  sessionId: "s",
  messageId: "m",
  summary: null,
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

layer(cell, { excludeTestServices: true })("the cell's listener", (it) => {
  it.effect("lets nobody in without the cell's own token, not even to look", () =>
    Effect.gen(function* () {
      for (const request of [
        HttpClientRequest.get("/health"),
        HttpClientRequest.put("/configuration").pipe(json({ agents: [sampleAgent] })),
        HttpClientRequest.post("/turns").pipe(json(turn)),
        HttpClientRequest.get("/nowhere")
      ])
        for (const token of ["", "other", "ownn", "Basic own", "Payment own"]) {
          const { status, type } = yield* send(request, token)
          expect([request.url, token, status, type]).toStrictEqual([request.url, token, 401, "application/json"])
        }
    })
  )

  it.effect("tells its health and its agents", () =>
    Effect.gen(function* () {
      const configured = yield* send(HttpClientRequest.put("/configuration").pipe(json({ agents: [sampleAgent] })))
      expect(configured).toMatchObject({ status: 204, text: "" })
      const health = yield* send(HttpClientRequest.get("/health"), "bearer own")
      expect(JSON.parse(health.text)).toStrictEqual({
        status: "ok",
        runtimeVersion: "1.2.3",
        startedAt: 42,
        agents: ["agt_1"]
      })
    })
  )

  it.effect("answers a turn with a stream, and says what is wrong with one it does not take", () =>
    Effect.gen(function* () {
      yield* send(HttpClientRequest.put("/configuration").pipe(json({ agents: [sampleAgent] })))
      const answer = yield* send(HttpClientRequest.post("/turns").pipe(json(turn)))
      expect(answer).toMatchObject({ status: 200, type: "text/event-stream" })
      expect(answer.text).toContain(`event: done\ndata: {"type":"done","reply":"","model":"m"}\n\n`)

      const elsewhere = yield* send(HttpClientRequest.post("/turns").pipe(json({ ...turn, agentId: "agt_2" })))
      expect(elsewhere).toMatchObject({ status: 404, type: "application/json" })
      const incomplete = yield* send(
        HttpClientRequest.post("/turns").pipe(
          json({ ...turn, sessionId: undefined, history: [{ role: "a private word" }] })
        )
      )
      expect(incomplete.status).toBe(400)
      expect(incomplete.text).toContain("sessionId is missing")
      expect(incomplete.text).not.toContain("a private word")
    })
  )

  it.effect("refuses bodies that are no JSON or too large, and goes on", () =>
    Effect.gen(function* () {
      const malformed = yield* send(HttpClientRequest.put("/configuration").pipe(text("{")))
      expect(malformed).toMatchObject({ status: 400, type: "application/json" })
      const large = yield* send(HttpClientRequest.post("/turns").pipe(text(" ".repeat(runtimeBodyLimit + 1))))
      expect(large).toMatchObject({ status: 413, type: "application/json" })
      expect((yield* send(HttpClientRequest.get("/nowhere"))).status).toBe(404)
      expect((yield* send(HttpClientRequest.post("/health"))).status).toBe(404)
      expect((yield* send(HttpClientRequest.get("/health"))).status).toBe(200)
    })
  )
})
