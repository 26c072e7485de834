import { JobQueue } from "@berth/domain/jobs/JobQueue"
import * as AgentManagerClient from "@berth/infra/backend/AgentManagerClient"
import * as AccountRules from "@berth/infra/composition/AccountRules"
import * as CardEvents from "@berth/infra/composition/CardEvents"
import * as Cards from "@berth/infra/composition/Cards"
import { databaseUrlOf, internalApiKeyOf } from "@berth/infra/composition/Keys"
import * as Mail from "@berth/infra/composition/Mail"
import * as Queues from "@berth/infra/composition/Queues"
import * as Storage from "@berth/infra/composition/Storage"
import type { Settings } from "@berth/infra/configuration/Settings"
import { ping } from "@berth/infra/postgres/Health"
import { CannotRun } from "@berth/infra/process/RunProgram"
import { FetchHttpClient } from "@effect/platform"
import { SqlClient } from "@effect/sql"
import { Duration, Effect, Layer, Option } from "effect"
import * as HealthListener from "./health/HealthListener.ts"
import * as Worker from "./Worker.ts"

/** The relay holds a connection while it hands entries over; the rest is short statements. */
const poolSize = 5

const checks = Layer.effect(
  HealthListener.Checks,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { counts } = yield* JobQueue
    return { database: Effect.provideService(ping, SqlClient.SqlClient, sql), queue: counts("provision") }
  })
)

const health = (settings: Settings) =>
  Option.match(settings.worker.healthPort, {
    onNone: () => Layer.empty,
    onSome: (port) =>
      HealthListener.layer({ host: settings.addresses.host, port }).pipe(
        Layer.provide(checks),
        Layer.mapError(
          ({ cause }) =>
            new CannotRun({ reason: `The health listener cannot listen on port ${port}: ${String(cause)}` })
        )
      )
  })

/** The worker over its real ports. What is provided later closes later: health answers until the last job is done. */
export const program = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const databaseUrl = yield* databaseUrlOf(settings)
      const internalApiKey = yield* internalApiKeyOf(settings)
      const { drainSeconds, provisionConcurrency, tasksConcurrency } = settings.worker
      return Worker.layer({
        concurrency: { tasks: tasksConcurrency, provision: provisionConcurrency },
        drain: Duration.seconds(drainSeconds),
        streamRetention: settings.streamRetention
      }).pipe(
        Layer.provide(health(settings)),
        Layer.provide(CardEvents.pricesFromSettings(settings)),
        Layer.provide(Cards.processorFromSettings(settings)),
        Layer.provide(Mail.fromSettings(settings)),
        Layer.provide(AccountRules.fromSettings(settings)),
        Layer.provide(AgentManagerClient.layer({ backendUrl: settings.addresses.backendUrl.origin, internalApiKey })),
        Layer.provide(FetchHttpClient.layer),
        Layer.provide(Queues.fromSettings(settings, databaseUrl)),
        Layer.provide(Storage.fromSettings(settings, { maxConnections: poolSize, applicationName: "berth-worker" }))
      )
    })
  )
