import { Users } from "@berth/domain/accounts/Users"
import { AgentLifecycle } from "@berth/domain/agents/AgentLifecycle"
import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { AgentRuntime } from "@berth/domain/instances/AgentRuntime"
import { ContextWindows } from "@berth/domain/ai/ContextWindows"
import { IdleInstances } from "@berth/domain/instances/IdleInstances"
import { InstanceSettings } from "@berth/domain/instances/InstanceSettings"
import { InstanceContents } from "@berth/domain/instances/InstanceContents"
import { InstanceReconciler } from "@berth/domain/instances/InstanceReconciler"
import { OrphanCleanup } from "@berth/domain/instances/OrphanCleanup"
import { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { SkillCatalog } from "@berth/domain/skills/Skill"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import * as PostgresCredentialRepository from "@berth/infra/postgres/secrets/PostgresCredentialRepository"
import * as PostgresOutbox from "@berth/infra/postgres/jobs/PostgresOutbox"
import * as PostgresDomainEvents from "@berth/infra/postgres/events/PostgresDomainEvents"
import * as AccountsStores from "@berth/infra/postgres/accounts/AccountsStores"
import * as BillingStores from "@berth/infra/postgres/billing/BillingStores"
import * as PostgresAgentRepository from "@berth/infra/postgres/agents/PostgresAgentRepository"
import * as PostgresInstanceRepository from "@berth/infra/postgres/instances/PostgresInstanceRepository"
import * as PostgresAgentLog from "@berth/infra/postgres/instances/PostgresAgentLog"
import * as PostgresUploadedSkillRepository from "@berth/infra/postgres/skills/PostgresUploadedSkillRepository"
import * as PostgresMcpServerRepository from "@berth/infra/postgres/skills/PostgresMcpServerRepository"
import * as UuidIdGenerator from "@berth/infra/crypto/UuidIdGenerator"
import * as NodeTokens from "@berth/infra/crypto/NodeTokens"
import * as NodeDigests from "@berth/infra/crypto/NodeDigests"
import * as AesGcmSecretBox from "@berth/infra/crypto/AesGcmSecretBox"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import { Administrators, makeAdministrators } from "@berth/domain/accounts/Administrators"
import { UnitPolicy } from "@berth/domain/billing/units/UnitLedger"
import { SqlClient } from "@effect/sql/SqlClient"
import {
  Context,
  Deferred,
  Duration,
  Effect,
  Layer,
  Logger,
  LogLevel,
  Option,
  type Redacted,
  Schedule,
  type Scope
} from "effect"
import type { FakeInstanceHost } from "../fakes/FakeInstanceHost.ts"
import { testKeys } from "./TestStorage.ts"

/** Longer than a test: only its own scan finds an idle instance. */
export const idleAfter = Duration.hours(1)

/**
 * The stores of a reconciler on a migrated database. It starts hundreds of times, and all stores cost five times as
 * much.
 */
const reconcilerStorage = (databaseUrl: Redacted.Redacted, applicationName: string) =>
  Layer.mergeAll(
    PostgresTransaction.layer,
    PostgresCredentialRepository.layer,
    PostgresOutbox.layer,
    PostgresDomainEvents.layer,
    AccountsStores.layer,
    BillingStores.layer,
    PostgresAgentRepository.layer,
    PostgresInstanceRepository.layer,
    PostgresAgentLog.layer,
    PostgresUploadedSkillRepository.layer,
    PostgresMcpServerRepository.layer
  ).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        UuidIdGenerator.layer,
        NodeTokens.layer,
        NodeDigests.layer,
        AesGcmSecretBox.layer({ keys: testKeys }),
        Layer.succeed(Administrators, makeAdministrators({ emails: [], verifiedOnly: false })),
        Layer.succeed(UnitPolicy, { confirmedEmailRequired: false }),
        PostgresPool.layer({ url: databaseUrl, maxConnections: 4, applicationName })
      )
    )
  )

/** A backend's reconciler that can crash at a step, as by SIGKILL: afterwards it has no effects. */
export interface ReconcilerProcess {
  readonly reconciler: InstanceReconciler
  /** Names of the steps so far. */
  readonly steps: ReadonlyArray<string>
  /** Crashes at the step with this number, counted from 1 after the call. */
  readonly crashAtStep: (number: number) => void
  readonly crashed: Effect.Effect<void>
  /** Pauses at the step with this number, counted from 1 after the call, until `resume`. */
  readonly pauseAtStep: (
    number: number
  ) => Effect.Effect<{ readonly reached: Effect.Effect<void>; readonly resume: Effect.Effect<void> }>
  readonly orphanCleanup: OrphanCleanup
  readonly idleInstances: IdleInstances
}

export const makeReconcilerProcess = (
  databaseUrl: Redacted.Redacted,
  host: FakeInstanceHost,
  name: string
): Effect.Effect<ReconcilerProcess, never, Scope.Scope> =>
  Effect.gen(function* () {
    const died = yield* Deferred.make<void>()
    const listed = yield* Deferred.make<void>()
    const steps: Array<string> = []
    let left = Number.POSITIVE_INFINITY
    let untilPause = Number.POSITIVE_INFINITY
    let pause: Effect.Effect<void> = Effect.void
    const step = (what: string) =>
      Effect.suspend(() => {
        if (left <= 0) return Effect.never
        steps.push(what)
        left -= 1
        untilPause -= 1
        if (untilPause === 0) return pause
        return left > 0 ? Effect.void : Effect.zipRight(Deferred.succeed(died, undefined), Effect.never)
      })
    const unlessDead = Effect.suspend(() => (left <= 0 ? Effect.never : Effect.void))
    const around = <A, E, R>(what: string, work: Effect.Effect<A, E, R>) =>
      Effect.zipRight(step(`before ${what}`), Effect.zipLeft(work, step(`after ${what}`)))

    const watched = Layer.map(reconcilerStorage(databaseUrl, name), (context) => {
      const instances = Context.get(context, InstanceRepository)
      const transaction = Context.get(context, Transaction)
      return context.pipe(
        Context.add(InstanceRepository, {
          ...instances,
          find: (userId) => Effect.zipRight(unlessDead, instances.find(userId)),
          listDesired: (desired) =>
            Effect.zipLeft(
              instances.listDesired(desired),
              desired === "down" ? Deferred.succeed(listed, undefined) : Effect.void
            ),
          serialized: (userId, work) =>
            Effect.zipRight(step("the owner's lock is requested"), instances.serialized(userId, work)),
          markAsleep: (userId, since) => around("the instance is marked asleep", instances.markAsleep(userId, since)),
          update: (userId, changes) =>
            around(`the instance's row says ${Object.keys(changes).join(" and ")}`, instances.update(userId, changes))
        }),
        Context.add(Transaction, {
          ...transaction,
          run: (work) => around("a transaction", transaction.run(work))
        })
      )
    })
    const { idleInstances, orphanCleanup, reconciler } = yield* Effect.all({
      reconciler: InstanceReconciler,
      orphanCleanup: OrphanCleanup,
      idleInstances: IdleInstances
    }).pipe(
      Effect.provide(
        yield* Layer.build(
          Layer.mergeAll(InstanceReconciler.Default, OrphanCleanup.Default, IdleInstances.Default).pipe(
            Layer.provide(InstanceContents.Default),
            Layer.provide(Layer.mergeAll(Users.Default, AgentLifecycle.Default, Allowances.Default)),
            Layer.provide(Layer.succeed(InstanceDriver, host.driver(step))),
            Layer.provide(Layer.succeed(AgentRuntime, host.runtime(step))),
            Layer.provide(
              Layer.succeed(InstanceSettings, {
                backendUrl: "http://127.0.0.1:1",
                idleAfter: Option.some(idleAfter)
              })
            ),
            Layer.provide(Layer.succeed(AgentSettings, { models: [], legacyModels: new Map() })),
            Layer.provide(Layer.succeed(SkillCatalog, [])),
            Layer.provide(Layer.succeed(ContextWindows, { find: () => Effect.succeed(128_000) })),
            Layer.provide(watched),
            Layer.provide(Logger.minimumLogLevel(LogLevel.None)),
            Layer.orDie
          )
        )
      )
    )
    // Owners created after this point are not part of the initial reconciliation.
    yield* Deferred.await(listed)
    return {
      reconciler,
      steps,
      crashAtStep: (number) => {
        steps.length = 0
        left = number
      },
      crashed: Deferred.await(died),
      pauseAtStep: (number) =>
        Effect.gen(function* () {
          const [reached, mayGoOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
          pause = Effect.zipRight(Deferred.succeed(reached, undefined), Deferred.await(mayGoOn))
          untilPause = number
          return { reached: Deferred.await(reached), resume: Effect.asVoid(Deferred.succeed(mayGoOn, undefined)) }
        }),
      orphanCleanup,
      idleInstances
    }
  })

/**
 * Terminates the connections as the kernel does for a killed process, repeatedly until the scope closes: the simulated
 * process may be opening another one.
 */
export const makeConnectionTerminator = Effect.gen(function* () {
  const sql = yield* SqlClient
  const killed: Array<string> = []
  const cut = Effect.suspend(() =>
    killed.length === 0
      ? Effect.void
      : Effect.asVoid(
          sql`select pg_terminate_backend(pid) from pg_stat_activity where ${sql.in("application_name", killed)}`
        )
  )
  yield* Effect.forkScoped(Effect.repeat(cut, Schedule.spaced("200 millis")))
  return (name: string) =>
    Effect.suspend(() => {
      killed.push(name, `${name} locks`)
      return cut
    })
})
