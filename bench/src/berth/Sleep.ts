import type { UserId } from "@berth/domain/shared/UserId"
import { Effect, Schema } from "effect"
import type { HostedBerth } from "./HostedBerth.ts"
import { MeasurementNotPossible } from "./MeasurementNotPossible.ts"

const Left = Schema.Struct({ left: Schema.Int })

/** An instance that is falling asleep is marked first, and stopped under its lock. */
const awakeQuery = `
  select count(*)::int as left from instances
  where owner_id = any($1::text[]) and (desired <> 'asleep' or exists (
    select from pg_locks where locktype = 'advisory' and objsubid = 1
      and (classid::bigint << 32 | objid::bigint) = hashtextextended('instance of ' || owner_id, 0)))`

/** Makes the next scan for idle instances stop these, and waits until they have ended. */
export const putToSleep = ({ database }: HostedBerth, ids: ReadonlyArray<UserId>) =>
  Effect.gen(function* () {
    for (;;) {
      yield* database.execute(
        `update instances set last_used_at = now() - interval '1 day' where owner_id = any($1::text[])`,
        [ids]
      )
      const [row] = yield* database.select(Left, awakeQuery, [ids])
      if (row?.left === 0) return
      yield* Effect.sleep("100 millis")
    }
  }).pipe(
    Effect.timeoutFail({
      duration: "2 minutes",
      onTimeout: () => new MeasurementNotPossible({ reason: "The instances did not fall asleep within two minutes." })
    })
  )

const Commits = Schema.Struct({ commits: Schema.NumberFromString })

/** Transactions of the database so far; a statement outside a transaction is one. Its sessions report within a second. */
export const readTransactions = ({ database }: HostedBerth) =>
  Effect.map(
    Effect.delay(
      database.select(
        Commits,
        `select xact_commit::text as commits from pg_stat_database where datname = current_database()`
      ),
      "1500 millis"
    ),
    ([row]) => row?.commits ?? Number.NaN
  )
