import { ReadinessChecks } from "@berth/api/http/Health"
import { JobQueue } from "@berth/domain/jobs/JobQueue"
import * as AccountsWiring from "@berth/infra/wiring/AccountsWiring"
import * as BackendWiring from "@berth/infra/wiring/BackendWiring"
import * as BillingWiring from "@berth/infra/wiring/BillingWiring"
import { requireDatabaseUrl, resolveKeyEncryptionKeys } from "@berth/infra/wiring/SecretsWiring"
import * as InteractionWiring from "@berth/infra/wiring/InteractionWiring"
import * as ChannelsWiring from "@berth/infra/wiring/ChannelsWiring"
import * as WalletsWiring from "@berth/infra/wiring/WalletsWiring"
import * as MailWiring from "@berth/infra/wiring/MailWiring"
import * as RedisStartup from "@berth/infra/redis/RedisStartup"
import * as JobsWiring from "@berth/infra/wiring/JobsWiring"
import * as ProvisioningWiring from "@berth/infra/wiring/ProvisioningWiring"
import * as PersistenceWiring from "@berth/infra/wiring/PersistenceWiring"
import * as WebhooksWiring from "@berth/infra/wiring/WebhooksWiring"
import * as VerificationWiring from "@berth/infra/wiring/VerificationWiring"
import type { Settings } from "@berth/infra/configuration/Settings"
import { countSealedValues, resealSecrets, type SealedCount } from "@berth/infra/postgres/SecretResealing"
import { makeDatabaseCheck } from "@berth/infra/postgres/DatabaseHealth"
import { ProgramMisconfigured } from "@berth/infra/process/ProgramRunner"
import { Referrals } from "@berth/domain/accounts/referrals/Referrals"
import { ExternalAccounts } from "@berth/domain/accounts/registration/ExternalAccounts"
import * as AdministrationServices from "@berth/domain/administration/AdministrationServices"
import { makeCommandActor } from "@berth/domain/administration/audit/AuditEntry"
import { AgentLifecycle } from "@berth/domain/agents/AgentLifecycle"
import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import * as BillingServices from "@berth/domain/billing/BillingServices"
import { Instances } from "@berth/domain/instances/Instances"
import { Sessions } from "@berth/domain/sessions/Sessions"
import * as EmbeddedPostgres from "@berth/infra/embedded-postgres/EmbeddedPostgres"
import { Console, Duration, Effect, Layer, Logger, LogLevel, Option } from "effect"
import { userInfo } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import {
  AdminUsageInvalid,
  adminUsage,
  formatOutput,
  isQueueCommand,
  runAdminCommand,
  runQueueCommand
} from "./administration/AdminCommand.ts"
import * as MetricsListener from "@berth/infra/telemetry/MetricsListener"
import { readPrometheus } from "@berth/infra/telemetry/PrometheusFormat"
import * as HealthListener from "./health/HealthListener.ts"
import * as Worker from "./Worker.ts"

/** The relay holds a connection during a round; other statements are short. */
const poolSize = 5

const checks = Layer.effect(
  ReadinessChecks,
  Effect.zipWith(makeDatabaseCheck, JobQueue, (database, { check }) => ({
    checks: { database, queue: check }
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

/**
 * The worker with its live Layers. Layers provided later close later, so health responds until the last job has ended.
 */
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
        Layer.provide(Layer.merge(health(settings), MetricsListener.fromSettings(settings, readPrometheus))),
        Layer.provide(BillingWiring.fromSettings(settings)),
        Layer.provide(MailWiring.fromSettings(settings)),
        Layer.provide(ChannelsWiring.fromSettings(settings)),
        Layer.provide(WebhooksWiring.fromSettings(settings)),
        Layer.provide(WalletsWiring.fromSettings(settings)),
        Layer.provide(InteractionWiring.fromSettings(settings)),
        Layer.provide(AccountsWiring.fromSettings(settings)),
        Layer.provide(ProvisioningWiring.liveStreamsFromSettings(settings)),
        Layer.provide(ProvisioningWiring.policyFromSettings(settings)),
        Layer.provide(VerificationWiring.chainFromSettings(settings)),
        Layer.provide(BackendWiring.fromSettings(settings)),
        Layer.provide(JobsWiring.fromSettings(settings, databaseUrl)),
        Layer.provide(RedisStartup.layer(settings.redisUrl)),
        Layer.provide(
          PersistenceWiring.fromSettings(settings, { maxConnections: poolSize, applicationName: "berth-worker" })
        )
      )
    })
  )

const printCounts = (title: string, counts: ReadonlyArray<SealedCount>) =>
  Console.log([title, ...counts.map(({ column, keyId, rows }) => `  ${column}  ${keyId}  ${rows}`)].join("\n"))

/** Reseals all stored secrets with the current key of `SECRETS_KEYS`, and prints the rows per key before and after. */
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

const administration = (settings: Settings) =>
  AdministrationServices.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Layer.provide(ExternalAccounts.Default, Referrals.Default),
        Instances.Default,
        AgentLifecycle.Default,
        BillingServices.plans
      )
    ),
    Layer.provideMerge(Layer.merge(Worker.jobServices, Sessions.Default)),
    Layer.provide(AccountsWiring.fromSettings(settings)),
    Layer.provide(BackendWiring.fromSettings(settings)),
    Layer.provide(Layer.succeed(AgentSettings, { models: settings.agentModels, legacyModels: settings.legacyModels })),
    Layer.provideMerge(PersistenceWiring.fromSettings(settings, { maxConnections: 2, applicationName: "berth-admin" }))
  )

/** Separate from the other services, so that an unavailable queue store does not affect their commands. */
const queueAdministration = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.map(requireDatabaseUrl(settings), (databaseUrl) =>
      AdministrationServices.queues.pipe(
        Layer.provide(JobsWiring.fromSettings(settings, databaseUrl)),
        Layer.provide(PersistenceWiring.fromSettings(settings, { maxConnections: 2, applicationName: "berth-admin" }))
      )
    )
  )

/** `DATABASE_URL`, else the embedded database of a running `npm start` with this `DATA_DIR`. */
const withDatabase = (settings: Settings) =>
  Option.isSome(settings.databaseUrl)
    ? Effect.succeed(settings)
    : EmbeddedPostgres.findRunning(join(settings.dataDir, "postgres")).pipe(
        Effect.map((databaseUrl) => ({ ...settings, databaseUrl })),
        Effect.mapError(({ message }) => new ProgramMisconfigured({ reason: message }))
      )

const printError = (text: string, code: number) =>
  Effect.sync(() => {
    process.stderr.write(`${text}\n`)
    process.exitCode = code
  })

const readArguments = (args: ReadonlyArray<string>) =>
  Effect.try({
    try: () =>
      parseArgs({
        args: [...args],
        allowPositionals: true,
        options: {
          reason: { type: "string" },
          json: { type: "boolean", default: false },
          help: { type: "boolean", default: false },
          limit: { type: "string", default: "50" },
          offset: { type: "string", default: "0" }
        }
      }),
    catch: (cause) => new AdminUsageInvalid({ reason: cause instanceof Error ? cause.message : String(cause) })
  })

const refuse = (text: string) => () => printError(text, 1)

/** Administration on the command line. Exit codes: 0 success, 1 rejected, 2 invalid usage, 78 invalid settings. */
export const adminCommand = (args: ReadonlyArray<string>) => (settings: Settings) =>
  Effect.gen(function* () {
    const { positionals, values } = yield* readArguments(args)
    const { help, json, limit, offset, reason } = values
    if (help) return yield* Console.log(adminUsage)
    const actor = makeCommandActor(userInfo().username)
    const command = { positionals, reason, limit, offset }
    const connected = yield* withDatabase(settings)
    const output = yield* isQueueCommand(positionals)
      ? Effect.provide(runQueueCommand(actor, command), queueAdministration(connected))
      : Effect.provide(runAdminCommand(actor, command), administration(connected))
    yield* Console.log(json ? JSON.stringify(output, null, 2) : formatOutput(output))
  }).pipe(
    Effect.catchTags({
      AdminUsageInvalid: ({ reason }) => printError(`${reason}\n\n${adminUsage}`, 2),
      UserNotFound: refuse("There is no such user."),
      CardSubscriptionActive: refuse("A card pays for the plan. Cancel that subscription at the card processor first."),
      CreditsInsufficient: ({ balance }) => printError(`The balance is ${balance} credits; take at most these.`, 1),
      AdministratorProtected: refuse("Administrators cannot be suspended. Remove the address from ADMIN_EMAILS first."),
      UserInstanceMissing: refuse("This user has no instance."),
      DeadLetterNotFound: refuse("No job with this id has failed permanently."),
      UserSuspended: refuse("The account is suspended. End the suspension first.")
    }),
    // Standard output contains only the output of the command.
    Logger.withMinimumLogLevel(LogLevel.Error)
  )
