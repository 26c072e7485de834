import { ChatSessionId } from "@berth/domain/interaction/Conversation"
import { Array, Effect, Schema } from "effect"
import { type HostedBerth, hostBerth } from "./berth/HostedBerth.ts"
import { createOwners, type Owner, ownerPost } from "./berth/Owners.ts"
import { requestOnce, type HttpRequest, openConnection } from "./measure/TimedRequest.ts"
import { summarizeLatencies, medianLatencies } from "./measure/Latencies.ts"
import type { Load } from "./measure/Load.ts"
import { measureInTurns } from "./measure/Rounds.ts"
import * as Comparison from "./report/Comparison.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"
import { startServer } from "./servers/ServerProcess.ts"

const model = "openai/gpt-4o-mini"
const message = "Ahoy! What is the weather like at sea?"

/** Settings that replace the model provider by an upstream of the bench. */
export const upstreamEnvironment = (upstream: string) => ({
  OPENAI_API_KEY: "bench",
  OPENAI_BASE_URL: `${upstream}/v1`,
  SANDBOX_MODEL: "off"
})

const Opened = Schema.parseJson(Schema.Struct({ sessionId: ChatSessionId }))

/** A conversation. Turns of one conversation run in sequence, so each connection has its own. */
interface Conversation {
  readonly owner: Owner
  readonly sessionId: ChatSessionId
}

const openSession = (hosted: HostedBerth, owner: Owner) =>
  Effect.scoped(
    Effect.gen(function* () {
      const client = yield* openConnection(hosted.berth.webUrl)
      const answer = yield* requestOnce(client, ownerPost(owner, "/api/agent", { action: "create-session" }))
      return { owner, sessionId: (yield* Effect.orDie(Schema.decode(Opened)(answer.text()))).sessionId }
    })
  )

/** Conversations of several owners, each with a running agent. */
export const openConversations = (hosted: HostedBerth, ownerCount: number, count: number) =>
  Effect.gen(function* () {
    const owners = yield* createOwners(hosted, ownerCount)
    yield* Effect.forEach(
      owners,
      ({ visitor }) =>
        Effect.flatMap(Effect.orDie(visitor.provision("First mate", model)), ({ id }) => visitor.untilRunning(id)),
      { concurrency: 2 }
    )
    return yield* Effect.forEach(
      Array.makeBy(count, (index) => owners[index % owners.length] ?? owners[0]),
      (owner) => openSession(hosted, owner),
      { concurrency: 4 }
    )
  })

const chatCall = ({ owner, sessionId }: Conversation): HttpRequest =>
  ownerPost(owner, "/api/agent", { message, sessionId })

export const makeStreamedCall = (conversation: Conversation): HttpRequest => {
  const call = chatCall(conversation)
  return { ...call, headers: { ...call.headers, accept: "text/event-stream" }, awaits: "event: delta" }
}

export const bareCall: HttpRequest = {
  method: "POST",
  path: "/v1/chat/completions",
  headers: { authorization: "Bearer bench", "content-type": "application/json" },
  body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: message }], stream: true }),
  expected: 200,
  awaits: "delta"
}

/** One conversation per connection. */
export const makeChatLoad = (
  { berth }: HostedBerth,
  conversations: Array.NonEmptyReadonlyArray<Conversation>,
  connections: number
): Load => {
  const calls = Array.map(conversations, chatCall)
  return { origin: berth.webUrl, connections, callOf: (index) => calls[index % calls.length] ?? calls[0] }
}

/** Restores the daily units. */
export const restoreUnits = ({ database }: HostedBerth) => database.execute("update unit_days set used = 0")

/** Milliseconds to the first delta, over sequential streams. */
const firstPieces = (origin: string, call: HttpRequest, count: number) =>
  Effect.scoped(
    Effect.flatMap(openConnection(origin), (client) =>
      Effect.map(Effect.replicateEffect(requestOnce(client, call), count), (answers) =>
        summarizeLatencies(answers.map(({ awaited }) => awaited))
      )
    )
  )

/** Chat through an instant upstream, compared with the upstream itself. */
export const chats: Scenario = (amounts) =>
  Effect.gen(function* () {
    const upstream = yield* startServer("Upstream")
    const hosted = yield* hostBerth(upstreamEnvironment(upstream.origin))
    const { server } = yield* hosted.berth.pids
    const most = Math.max(...amounts.connections)
    const conversations = yield* openConversations(hosted, Math.min(10, most), most)

    const pairs = yield* Effect.forEach(amounts.connections, (connections) =>
      Effect.zipRight(
        restoreUnits(hosted),
        Effect.map(
          measureInTurns(
            [
              { name: "POST /api/agent", pid: server, load: makeChatLoad(hosted, conversations, connections) },
              {
                name: "bare upstream",
                pid: upstream.pid,
                load: { origin: upstream.origin, connections, callOf: () => bareCall }
              }
            ],
            amounts
          ),
          Comparison.pairResults
        )
      )
    )
    yield* restoreUnits(hosted)
    const streams = yield* Effect.replicateEffect(
      Effect.all({
        berth: firstPieces(hosted.berth.webUrl, makeStreamedCall(conversations[0]), amounts.streams),
        upstream: firstPieces(upstream.origin, bareCall, amounts.streams)
      }),
      amounts.rounds
    )
    const first = {
      berth: medianLatencies(streams.map(({ berth }) => berth)),
      upstream: medianLatencies(streams.map((round) => round.upstream))
    }
    const all = pairs.flat()
    return {
      figures: { unit: "ms", pairs: all, firstDelta: { ...first, rounds: streams } },
      tables: [
        Comparison.comparisonTable("Chat through an instant upstream", all),
        {
          title: "First delta of a streamed answer, 1 connection (ms)",
          columns: ["stream", "p50", "p95", "p99"],
          rows: [
            ["POST /api/agent, first delta", ...[first.berth.p50, first.berth.p95, first.berth.p99].map(formatFigure)],
            [
              "bare upstream, first chunk",
              ...[first.upstream.p50, first.upstream.p95, first.upstream.p99].map(formatFigure)
            ]
          ]
        }
      ],
      panels: [
        ...Comparison.comparisonPanels("Chat", all),
        {
          title: "First delta of a streamed answer, p50",
          unit: "ms",
          bars: [
            { label: "POST /api/agent", value: first.berth.p50 },
            { label: "bare upstream", value: first.upstream.p50, isBaseline: true }
          ]
        }
      ]
    }
  })
