import { Effect } from "effect"
import type { RunSize } from "../RunSize.ts"
import { readCpuSeconds } from "../berth/Processes.ts"
import type { CallFailed } from "./TimedRequest.ts"
import { type Latencies, median, medianLatencies } from "./Latencies.ts"
import * as Load from "./Load.ts"
import { profile } from "./Profiles.ts"

interface Contestant {
  readonly name: string
  readonly load: Load.Load
  /** The process that answers. */
  readonly pid: number
}

interface Round extends Load.LoadFigures {
  /** Processor milliseconds of the answering process per request. */
  readonly cpu: number
}

export interface ContestantResult extends Latencies {
  readonly name: string
  readonly connections: number
  /** Medians over the rounds, as are the latencies. */
  readonly rate: number
  readonly cpu: number
  readonly rounds: ReadonlyArray<Round>
}

const profileSeconds = 5

const round = ({ load, pid }: Contestant, bounds: Load.Bounds): Effect.Effect<Round, CallFailed> =>
  Effect.gen(function* () {
    const before = yield* readCpuSeconds(pid)
    const figures = yield* Load.runLoad(load, bounds)
    const used = (yield* readCpuSeconds(pid)) - before
    return { ...figures, cpu: (used * 1000) / (figures.requests + load.connections) }
  })

/**
 * Measures contestants alternately (A B A B), so that disturbances of the machine affect all alike. Each is warmed up
 * before the first round. Profiles are taken in separate rounds.
 */
export const measureInTurns = (
  contestants: ReadonlyArray<Contestant>,
  { roundRequests, roundSeconds, rounds, warmUpSeconds }: RunSize
): Effect.Effect<ReadonlyArray<ContestantResult>, CallFailed> =>
  Effect.gen(function* () {
    const requests = roundRequests
    yield* Effect.forEach(contestants, ({ load }) => Load.runLoad(load, { seconds: warmUpSeconds, requests }))
    const measured = yield* Effect.replicateEffect(
      Effect.forEach(contestants, (contestant) => round(contestant, { seconds: roundSeconds, requests })),
      rounds
    )
    yield* Effect.forEach(contestants, ({ load, name, pid }) =>
      profile(`${name} at ${load.connections}`, pid, Load.runLoad(load, { seconds: profileSeconds, requests }))
    )
    return contestants.map(({ load, name }, index) => {
      const own = measured.flatMap((figures) => figures[index] ?? [])
      return {
        name,
        connections: load.connections,
        rate: median(own.map(({ rate }) => rate)),
        cpu: median(own.map(({ cpu }) => cpu)),
        ...medianLatencies(own),
        rounds: own
      }
    })
  })

/** Ratio of two rates: the median over adjacent rounds. */
export const rateRatio = (one: ContestantResult, other: ContestantResult): number =>
  median(one.rounds.map(({ rate }, index) => rate / (other.rounds[index]?.rate ?? Number.NaN)))
