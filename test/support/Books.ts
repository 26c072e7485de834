import { Admins } from "@berth/domain/accounts/Admins"
import type { User } from "@berth/domain/accounts/User"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { balancesOf, unbalancedOf } from "@berth/domain/billing/Ledger"
import type { Reversal } from "@berth/domain/billing/Reversal"
import * as BillingHistory from "@berth/infra/postgres/BillingHistory"
import * as Charging from "@berth/infra/postgres/Charging"
import * as CreditPurchases from "@berth/infra/postgres/CreditPurchases"
import * as LedgerAudit from "@berth/infra/postgres/LedgerAudit"
import * as PostgresTransaction from "@berth/infra/postgres/PostgresTransaction"
import * as StorageEntitlements from "@berth/infra/postgres/StorageEntitlements"
import * as SubscriptionRepository from "@berth/infra/postgres/SubscriptionRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/UserRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert } from "@effect/vitest"
import { Effect, Layer, Option, Schema } from "effect"
import * as MigratedDatabase from "./MigratedDatabase.ts"
import * as TestSecrets from "./TestSecrets.ts"

/** Everything that has to do with units and money, on a database of its own. Who is called admin is one. */
export const Books = Layer.mergeAll(
  Charging.layer,
  CreditPurchases.layer,
  BillingHistory.layer,
  StorageEntitlements.layer,
  LedgerAudit.layer,
  PostgresUserRepository.layer,
  SubscriptionRepository.layer,
  PostgresTransaction.layer
).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      MigratedDatabase.layer,
      TestSecrets.layer,
      Layer.succeed(Admins, { includes: (user) => user.name === "admin" })
    )
  )
)

/** The refunds of a charge of a payment, by default of all its money. */
export const refundOf = (payment: string, amount = 1_000_000): Reversal => ({
  payment,
  source: `ch of ${payment}`,
  amount,
  version: amount
})

const UsedRow = Schema.Struct({ used: Schema.NumberFromString })

/** What the user's rows say: units of all days, and credits. */
export const balanceOf = (user: User) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
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

/** What the user's ledger says, by account; every transaction in it adds up to zero. */
export const ledgerOf = (user: User) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql`select transaction_id, account, units from ledger_entries where user_id = ${user.id}`
    const entries = yield* Schema.decodeUnknown(Schema.Array(EntryRow))(rows)
    assert.deepStrictEqual([...unbalancedOf(entries)], [])
    return balancesOf(entries)
  })
