import { Array, Effect } from "effect"
import { hostBerth } from "./berth/HostedBerth.ts"
import { listChildren, readCpuSeconds } from "./berth/Processes.ts"
import { bareCall, upstreamEnvironment, openConversations, restoreUnits, makeStreamedCall } from "./Chats.ts"
import { measureArrivalTimes } from "./measure/ArrivalTimes.ts"
import { type HttpRequest, openConnection } from "./measure/TimedRequest.ts"
import { type Latencies, summarizeLatencies, median, medianLatencies } from "./measure/Latencies.ts"
import { profile } from "./measure/Profiles.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"
import { pace, tokenMark } from "./servers/Pace.ts"
import { startServer } from "./servers/ServerProcess.ts"

interface Contestant {
  readonly name: string
  readonly origin: string
  readonly callOf: (connection: number) => HttpRequest
  /** The process that answers, and the runtimes behind it. */
  readonly pid: number
  readonly runtimes: ReadonlyArray<number>
}

interface Round {
  /** Milliseconds from the request to the first token. */
  readonly first: Latencies
  /** Milliseconds between tokens. */
  readonly gap: Latencies
  /** Milliseconds per token from the first to the last; median over the streams. */
  readonly perToken: number
  /** Processor milliseconds per token of the answering process, and of the runtimes together. */
  readonly cpu: number
  readonly runtimeCpu: number
}

const cpuOf = (pids: ReadonlyArray<number>) =>
  Effect.map(Effect.forEach(pids, readCpuSeconds), (all) => all.reduce((sum, seconds) => sum + seconds, 0))

/** Every connection streams its answers in sequence. */
const round = ({ callOf, origin, pid, runtimes }: Contestant, connections: number, streams: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const clients = yield* Effect.all(Array.makeBy(connections, () => openConnection(origin)))
      const before = yield* cpuOf([pid])
      const runtimesBefore = yield* cpuOf(runtimes)
      const answers = yield* Effect.forEach(
        clients,
        (client, index) =>
          Effect.replicateEffect(measureArrivalTimes(client, callOf(index), tokenMark, pace.tokens), streams),
        { concurrency: "unbounded" }
      )
      const used = (yield* cpuOf([pid])) - before
      const runtimesUsed = (yield* cpuOf(runtimes)) - runtimesBefore
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
        cpu: (used * 1000) / (all.length * pace.tokens),
        runtimeCpu: (runtimesUsed * 1000) / (all.length * pace.tokens)
      } satisfies Round
    })
  )

const summaryOf = (rounds: ReadonlyArray<Round>): Round => ({
  first: medianLatencies(rounds.map(({ first }) => first)),
  gap: medianLatencies(rounds.map(({ gap }) => gap)),
  perToken: median(rounds.map(({ perToken }) => perToken)),
  cpu: median(rounds.map(({ cpu }) => cpu)),
  runtimeCpu: median(rounds.map(({ runtimeCpu }) => runtimeCpu))
})

const ratio = (one: ReadonlyArray<Round>, other: ReadonlyArray<Round>, of: (round: Round) => number) =>
  median(Array.zipWith(one, other, (a, b) => of(a) / of(b)))

/** Streamed answers at a fixed pace, alternately through Berth and from the upstream. */
export const streams: Scenario = ({ pacedLoads, pacedStreams, rounds }) =>
  Effect.gen(function* () {
    const upstream = yield* startServer("PacedUpstream")
    const hosted = yield* hostBerth(upstreamEnvironment(upstream.origin))
    const { server } = yield* hosted.berth.pids
    const bare: Contestant = {
      name: "upstream itself",
      origin: upstream.origin,
      pid: upstream.pid,
      runtimes: [],
      callOf: () => bareCall
    }

    const measured = yield* Effect.forEach(pacedLoads, ({ owners, streams: connections }) =>
      Effect.gen(function* () {
        const calls = Array.map(yield* openConversations(hosted, owners, connections), makeStreamedCall)
        const berth: Contestant = {
          name: `POST /api/agent, ${owners === 1 ? "1 owner" : `${owners} owners`}`,
          origin: hosted.berth.webUrl,
          pid: server,
          runtimes: yield* listChildren(server),
          callOf: (index) => calls[index % calls.length] ?? calls[0]
        }
        yield* restoreUnits(hosted)
        yield* Effect.forEach([berth, bare], (contestant) => round(contestant, connections, 1))
        const turns = yield* Effect.replicateEffect(
          Effect.all({ berth: round(berth, connections, pacedStreams), bare: round(bare, connections, pacedStreams) }),
          rounds
        )
        yield* profile(`${berth.name}, ${connections} at once`, server, round(berth, connections, 1))
        const [through, direct] = [turns.map((turn) => turn.berth), turns.map((turn) => turn.bare)]
        return {
          name: berth.name,
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
      ...[it.first.p50, it.first.p95, it.perToken, it.gap.p95, it.gap.p99, it.cpu, it.runtimeCpu].map(formatFigure),
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
            "cpu of runtimes",
            "first to bare",
            "per token to bare"
          ],
          rows: measured.flatMap(({ connections, direct, firstRatio, name, perTokenRatio, through }) => [
            row(name, connections, through, [formatFigure(firstRatio), formatFigure(perTokenRatio)]),
            row(bare.name, connections, direct, ["", ""])
          ]),
          note: `The upstream sends the first token after ${pace.firstAfterMs} ms, then ${pace.tokens} tokens, one every ${pace.everyMs} ms. cpu: processor time per token. Aims: 40 streams: first token at most 100 ms later, 0.1 ms each; 200 streams: gap p95 below 150 ms, 0.03 ms each.`
        }
      ],
      panels: [
        {
          title: "First token of a streamed answer, p50",
          unit: "ms",
          bars: measured.flatMap(({ connections, direct, name, through }) => [
            { label: `${name}, ${connections} at once`, value: through.first.p50 },
            { label: `${bare.name}, ${connections} at once`, value: direct.first.p50, isBaseline: true }
          ])
        },
        {
          title: "Time per token",
          unit: "ms",
          bars: measured.flatMap(({ connections, direct, name, through }) => [
            { label: `${name}, ${connections} at once`, value: through.perToken },
            { label: `${bare.name}, ${connections} at once`, value: direct.perToken, isBaseline: true }
          ])
        }
      ]
    }
  })
