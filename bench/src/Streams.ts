import { Array, Effect } from "effect"
import { hostBerth } from "./berth/HostedBerth.ts"
import { readCpuSeconds } from "./berth/Processes.ts"
import { bareCall, upstreamEnvironment, openConversations, restoreUnits, makeStreamedCall } from "./Chats.ts"
import { measureArrivalTimes } from "./measure/ArrivalTimes.ts"
import { type HttpRequest, openConnection } from "./measure/TimedRequest.ts"
import { type Latencies, summarizeLatencies, median, medianLatencies } from "./measure/Latencies.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"
import { pace, tokenMark } from "./servers/Pace.ts"
import { startServer } from "./servers/ServerProcess.ts"

interface Contestant {
  readonly name: string
  readonly origin: string
  readonly callOf: (connection: number) => HttpRequest
  /** The process that answers. */
  readonly pid: number
}

interface Round {
  /** Milliseconds from the request to the first token. */
  readonly first: Latencies
  /** Milliseconds between tokens. */
  readonly gap: Latencies
  /** Milliseconds per token from the first to the last; median over the streams. */
  readonly perToken: number
  /** Processor milliseconds of the answering process per token. */
  readonly cpu: number
}

/** Every connection streams its answers in sequence. */
const round = ({ callOf, origin, pid }: Contestant, connections: number, streams: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const clients = yield* Effect.all(Array.makeBy(connections, () => openConnection(origin)))
      const before = yield* readCpuSeconds(pid)
      const answers = yield* Effect.forEach(
        clients,
        (client, index) =>
          Effect.replicateEffect(measureArrivalTimes(client, callOf(index), tokenMark, pace.tokens), streams),
        { concurrency: "unbounded" }
      )
      const used = (yield* readCpuSeconds(pid)) - before
      const all = answers.flat()
      const firsts = all.map((arrivals) => arrivals[0] ?? Number.NaN)
      const gaps = all.flatMap((arrivals) => arrivals.slice(1).map((at, index) => at - (arrivals[index] ?? at)))
      const perToken = all.map(
        (arrivals) => ((arrivals.at(-1) ?? Number.NaN) - (arrivals[0] ?? 0)) / (arrivals.length - 1)
      )
      return {
        first: summarizeLatencies(firsts),
        gap: summarizeLatencies(gaps),
        perToken: median(perToken),
        cpu: (used * 1000) / (all.length * pace.tokens)
      } satisfies Round
    })
  )

const summaryOf = (rounds: ReadonlyArray<Round>): Round => ({
  first: medianLatencies(rounds.map(({ first }) => first)),
  gap: medianLatencies(rounds.map(({ gap }) => gap)),
  perToken: median(rounds.map(({ perToken }) => perToken)),
  cpu: median(rounds.map(({ cpu }) => cpu))
})

const ratio = (one: ReadonlyArray<Round>, other: ReadonlyArray<Round>, of: (round: Round) => number) =>
  median(Array.zipWith(one, other, (a, b) => of(a) / of(b)))

/** Streamed answers at a fixed pace, alternately through Berth and from the upstream. */
export const streams: Scenario = ({ pacedConnections: levels, pacedStreams, rounds }) =>
  Effect.gen(function* () {
    const upstream = yield* startServer("PacedUpstream")
    const hosted = yield* hostBerth(upstreamEnvironment(upstream.origin))
    const { server } = yield* hosted.berth.pids
    const most = Math.max(...levels)
    const conversations = yield* openConversations(hosted, Math.min(10, most), most)
    const calls = Array.map(conversations, makeStreamedCall)
    const berth: Contestant = {
      name: "POST /api/agent",
      origin: hosted.berth.webUrl,
      pid: server,
      callOf: (index) => calls[index % calls.length] ?? calls[0]
    }
    const bare: Contestant = {
      name: "upstream itself",
      origin: upstream.origin,
      pid: upstream.pid,
      callOf: () => bareCall
    }

    const measured = yield* Effect.forEach(levels, (connections) =>
      Effect.gen(function* () {
        yield* restoreUnits(hosted)
        yield* Effect.forEach([berth, bare], (contestant) => round(contestant, connections, 1))
        const turns = yield* Effect.replicateEffect(
          Effect.all({ berth: round(berth, connections, pacedStreams), bare: round(bare, connections, pacedStreams) }),
          rounds
        )
        const [through, direct] = [turns.map((turn) => turn.berth), turns.map((turn) => turn.bare)]
        return {
          connections,
          through: summaryOf(through),
          direct: summaryOf(direct),
          firstRatio: ratio(through, direct, ({ first }) => first.p50),
          perTokenRatio: ratio(through, direct, ({ perToken }) => perToken),
          rounds: turns
        }
      })
    )
    const row = (name: string, connections: number, it: Round, ratios: ReadonlyArray<string>) => [
      name,
      String(connections),
      ...[it.first.p50, it.first.p95, it.perToken, it.gap.p95, it.gap.p99, it.cpu].map(formatFigure),
      ...ratios
    ]
    return {
      figures: { unit: "ms", pace, levels: measured },
      tables: [
        {
          title: "Streamed answers of a model at a fixed pace (ms)",
          columns: [
            "stream",
            "at once",
            "first token p50",
            "p95",
            "per token",
            "gap p95",
            "gap p99",
            "cpu",
            "first to bare",
            "per token to bare"
          ],
          rows: measured.flatMap(({ connections, direct, firstRatio, perTokenRatio, through }) => [
            row(berth.name, connections, through, [formatFigure(firstRatio), formatFigure(perTokenRatio)]),
            row(bare.name, connections, direct, ["", ""])
          ]),
          note: `The upstream sends the first token after ${pace.firstAfterMs} ms, then ${pace.tokens} tokens, one every ${pace.everyMs} ms. cpu: processor time of the answering process per token.`
        }
      ],
      panels: [
        {
          title: "First token of a streamed answer, p50",
          unit: "ms",
          bars: measured.flatMap(({ connections, direct, through }) => [
            { label: `${berth.name}, ${connections} at once`, value: through.first.p50 },
            { label: `${bare.name}, ${connections} at once`, value: direct.first.p50, isBaseline: true }
          ])
        },
        {
          title: "Time per token",
          unit: "ms",
          bars: measured.flatMap(({ connections, direct, through }) => [
            { label: `${berth.name}, ${connections} at once`, value: through.perToken },
            { label: `${bare.name}, ${connections} at once`, value: direct.perToken, isBaseline: true }
          ])
        }
      ]
    }
  })
