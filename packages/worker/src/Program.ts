import { ReadinessChecks } from "@berth/api/http/Health"
import { JobQueue } from "@berth/domain/jobs/JobQueue"
import * as AccountsWiring from "@berth/infra/wiring/AccountsWiring"
import * as BackendWiring from "@berth/infra/wiring/BackendWiring"
import * as BillingWiring from "@berth/infra/wiring/BillingWiring"
import { requireDatabaseUrl, resolveKeyEncryptionKeys } from "@berth/infra/wiring/SecretsWiring"
import * as InteractionWiring from "@berth/infra/wiring/InteractionWiring"
import * as MailWiring from "@berth/infra/wiring/MailWiring"
import * as JobsWiring from "@berth/infra/wiring/JobsWiring"
import * as PersistenceWiring from "@berth/infra/wiring/PersistenceWiring"
import type { Settings } from "@berth/infra/configuration/Settings"
import { countSealedValues, resealSecrets, type SealedCount } from "@berth/infra/postgres/SecretResealing"
import { makeDatabaseCheck } from "@berth/infra/postgres/DatabaseHealth"
import { ProgramMisconfigured } from "@berth/infra/process/ProgramRunner"
import { Console, Duration, Effect, Layer, Option } from "effect"
import * as HealthListener from "./health/HealthListener.ts"
import * as Worker from "./Worker.ts"

/** The relay holds a connection during a round; other statements are short. */
const poolSize = 5

const checks = Layer.effect(
  ReadinessChecks,
  Effect.zipWith(makeDatabaseCheck, JobQueue, (database, { counts }) => ({
    checks: { database, queue: counts("provision") }
  }))
)

const health = (settings: Settings) =>
  Option.match(settings.worker.healthPort, {
    onNone: () => Layer.empty,
    onSome: (port) =>
      HealthListener.layer({ host: settings.addresses.host, port }).pipe(
        Layer.provide(checks),
        Layer.mapError(
          ({ cause }) =>
            new ProgramMisconfigured({
              reason: `The health listener cannot bind port ${port}; set another port. ${String(cause)}`
            })
        )
      )
  })

/** The worker over its live Layers. Layers provided later close later: health responds until the last job has ended. */
export const workerProgram = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const databaseUrl = yield* requireDatabaseUrl(settings)
      const { drainSeconds, provisionConcurrency, tasksConcurrency } = settings.worker
      return Worker.layer({
        concurrency: { tasks: tasksConcurrency, provision: provisionConcurrency },
        drain: Duration.seconds(drainSeconds),
        streamRetention: settings.streamRetention,
        reservationRetention: settings.reservationRetention,
        modelUsageRetention: settings.modelUsageRetention
      }).pipe(
        Layer.provide(health(settings)),
        Layer.provide(BillingWiring.fromSettings(settings)),
        Layer.provide(MailWiring.fromSettings(settings)),
        Layer.provide(InteractionWiring.fromSettings(settings)),
        Layer.provide(AccountsWiring.fromSettings(settings)),
        Layer.provide(BackendWiring.fromSettings(settings)),
        Layer.provide(JobsWiring.fromSettings(settings, databaseUrl)),
        Layer.provide(
          PersistenceWiring.fromSettings(settings, { maxConnections: poolSize, applicationName: "berth-worker" })
        )
      )
    })
  )

const printCounts = (title: string, counts: ReadonlyArray<SealedCount>) =>
  Console.log([title, ...counts.map(({ column, keyId, rows }) => `  ${column}  ${keyId}  ${rows}`)].join("\n"))

/** Seals every stored secret by the current key of `SECRETS_KEYS`, and prints the rows per key before and after. */
export const resealSecretsCommand = (settings: Settings) =>
  Effect.gen(function* () {
    const [{ id }] = yield* resolveKeyEncryptionKeys(settings)
    yield* printCounts("Rows per key before:", yield* countSealedValues)
    const unreadable = yield* resealSecrets(id)
    yield* printCounts("Rows per key after:", yield* countSealedValues)
    if (unreadable > 0)
      return yield* new ProgramMisconfigured({
        reason: `${unreadable} values do not open. Add the keys that sealed them to SECRETS_KEYS and run the command again.`
      })
  }).pipe(
    Effect.provide(
      PersistenceWiring.fromSettings(settings, { maxConnections: 2, applicationName: "berth-reseal-secrets" })
    )
  )
