import { BerthStartFailed, type BerthLocation, launchBerth } from "@berth/test/e2e/BerthProcess"
import { freePort } from "@berth/test/support/FreePort"
import { temporaryDirectory } from "@berth/test/support/TemporaryDirectories"
import { Duration, Effect, Option, Schedule } from "effect"
import { join } from "node:path"
import { benchEnvironment } from "./berth/HostedBerth.ts"
import { type FreshStorage, Storage } from "./berth/Storage.ts"
import { median } from "./measure/Latencies.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"

const aim = 3000

const isReady = (url: string) =>
  Effect.tryPromise((signal) => fetch(`${url}/health/ready`, { signal })).pipe(
    Effect.map(({ status }) => status === 200),
    Effect.orElseSucceed(() => false)
  )

/** Milliseconds from `npm start` to ready. All processes have ended when this returns. */
const timeToReady = (place: BerthLocation, storage: FreshStorage) =>
  Effect.scoped(
    Effect.gen(function* () {
      const launched = Effect.gen(function* () {
        const berth = yield* launchBerth({
          launcher: "npm",
          place,
          environment: { ...benchEnvironment, ...storage.environment },
          ...Option.match(storage.databaseUrl, { onNone: () => ({}), onSome: (databaseUrl) => ({ databaseUrl }) })
        })
        yield* Effect.repeat(isReady(berth.webUrl), {
          until: (yes) => yes,
          schedule: Schedule.spaced("10 millis")
        }).pipe(
          Effect.timeoutFail({
            duration: "1 minute",
            onTimeout: () => new BerthStartFailed({ logs: "it was not ready within a minute" })
          })
        )
      })
      const [time] = yield* Effect.timed(launched)
      return Duration.toMillis(time)
    })
  )

const emptyThenExisting = Effect.scoped(
  Effect.gen(function* () {
    const storage = yield* (yield* Storage).fresh
    const place: BerthLocation = {
      dataDirectory: join(yield* temporaryDirectory, "data"),
      port: yield* freePort,
      backendPort: yield* freePort
    }
    return { empty: yield* timeToReady(place, storage), existing: yield* timeToReady(place, storage) }
  })
)

/** `npm start` to ready, on an empty data directory and again on the same one. */
export const startup: Scenario = ({ startups }) =>
  Effect.gen(function* () {
    const runs = yield* Effect.replicateEffect(emptyThenExisting, startups)
    const cases = (["empty", "existing"] as const).map((name) => {
      const times = runs.map((run) => run[name])
      return { name, median: median(times), shortest: Math.min(...times), longest: Math.max(...times), times }
    })
    return {
      figures: { unit: "ms", aim, cases },
      tables: [
        {
          title: "Startup: `npm start` to ready (s)",
          columns: ["data directory", "median", "shortest", "longest", "runs", "aim"],
          rows: cases.map((it) => [
            it.name,
            ...[it.median, it.shortest, it.longest].map((ms) => formatFigure(ms / 1000)),
            String(it.times.length),
            formatFigure(aim / 1000)
          ])
        }
      ],
      panels: [
        {
          title: "npm start to ready, median",
          unit: "s",
          bars: cases.map((it) => ({ label: `${it.name} data directory`, value: it.median / 1000, aim: aim / 1000 }))
        }
      ]
    }
  })
