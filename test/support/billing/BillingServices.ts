import { Administrators } from "@berth/domain/accounts/Administrators"
import type { User } from "@berth/domain/shared/User"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { computeBalances, findUnbalanced } from "./LedgerSums.ts"
import type { Reversal } from "@berth/domain/billing/Reversal"
import * as PostgresAgentRepository from "@berth/infra/postgres/agents/PostgresAgentRepository"
import * as PostgresBillingHistory from "@berth/infra/postgres/billing/PostgresBillingHistory"
import { UnitLedger, UnitPolicy } from "@berth/domain/billing/units/UnitLedger"
import * as PostgresDomainEvents from "@berth/infra/postgres/events/PostgresDomainEvents"
import * as PostgresBudgets from "@berth/infra/postgres/billing/PostgresBudgets"
import * as PostgresReservationRepository from "@berth/infra/postgres/billing/PostgresReservationRepository"
import * as PostgresCreditGrants from "@berth/infra/postgres/billing/PostgresCreditGrants"
import * as PostgresCreditPurchases from "@berth/infra/postgres/billing/PostgresCreditPurchases"
import * as PostgresLedgerAudit from "@berth/infra/postgres/billing/PostgresLedgerAudit"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import * as PostgresStorageEntitlements from "@berth/infra/postgres/billing/PostgresStorageEntitlements"
import * as PostgresSubscriptionRepository from "@berth/infra/postgres/billing/PostgresSubscriptionRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { assert } from "@effect/vitest"
import { Effect, Layer, Option, Schema } from "effect"
import * as MigratedDatabase from "../MigratedDatabase.ts"
import { sql } from "../Sql.ts"
import * as TestSecrets from "../TestSecrets.ts"
import { MinorUnits } from "@berth/domain/shared/Money"

/** The billing services on a new database. The user named admin is an administrator. */
export const BillingServices = Layer.mergeAll(
  UnitLedger.Default.pipe(
    Layer.provideMerge(PostgresReservationRepository.layer),
    Layer.provide(PostgresDomainEvents.layer),
    Layer.provide(Layer.succeed(UnitPolicy, { confirmedEmailRequired: false }))
  ),
  PostgresCreditPurchases.layer,
  PostgresCreditGrants.layer,
  PostgresAgentRepository.layer,
  PostgresBillingHistory.layer,
  PostgresBudgets.layer,
  PostgresStorageEntitlements.layer,
  PostgresLedgerAudit.layer,
  PostgresUserRepository.layer,
  PostgresSubscriptionRepository.layer,
  PostgresTransaction.layer
).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      MigratedDatabase.layer,
      TestSecrets.layer,
      Layer.succeed(Administrators, { includes: (user) => user.name === "admin" })
    )
  )
)

/** A refund of a payment. Default: the full amount. */
export const refundOf = (payment: string, amount = 1_000_000): Reversal => ({
  payment,
  source: `ch of ${payment}`,
  amount: MinorUnits(amount),
  version: amount
})

const UsedRow = Schema.Struct({ used: Schema.NumberFromString })

export const readBalance = (user: User) =>
  Effect.gen(function* () {
    const users = yield* UserRepository
    const [row] = yield* sql`select coalesce(sum(used), 0)::text as used from unit_days where user_id = ${user.id}`
    const { used } = yield* Schema.decodeUnknown(UsedRow)(row)
    return { used, credits: Option.getOrThrow(yield* users.find(user.id)).credits }
  })

const EntryRow = Schema.Struct({
  transactionId: Schema.String,
  account: Schema.Literal("allowance", "credits", "usage", "grants", "purchases"),
  units: Schema.NumberFromString
})

/** The user's ledger by account. Every transaction sums to zero. */
export const readLedger = (user: User) =>
  Effect.gen(function* () {
    const rows = yield* sql`select transaction_id, account, units from ledger_entries where user_id = ${user.id}`
    const entries = yield* Schema.decodeUnknown(Schema.Array(EntryRow))(rows)
    assert.deepStrictEqual([...findUnbalanced(entries)], [])
    return computeBalances(entries)
  })
