import { Transaction } from "@berth/domain/persistence/Transaction"
import { pingDatabase } from "@berth/infra/postgres/DatabaseHealth"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import { assert, layer } from "@effect/vitest"
import { Cause, Data, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { sql } from "../../../support/Sql.ts"

class Refused extends Data.TaggedError("Refused")<object> {}

const written = Effect.gen(function* () {
  return (yield* sql`select number from written order by number`).map(({ number }) => number)
})
const write = (number: number) => Effect.orDie(sql`insert into written values (${number})`)
const empty = Effect.zipRight(
  sql`create table if not exists written (number int primary key)`,
  sql`delete from written`
)

layer(Layer.provideMerge(PostgresTransaction.layer, MigratedDatabase.layer), { excludeTestServices: true })(
  "Transaction",
  (it) => {
    it.effect("Transaction keeps all writes, or none after a failure, a defect or an interruption", () =>
      Effect.gen(function* () {
        yield* empty
        const { run } = yield* Transaction
        assert.instanceOf(yield* Effect.flip(run(Effect.zipRight(write(1), new Refused()))), Refused)
        const died = yield* Effect.exit(run(Effect.zipRight(write(2), Effect.die("broken"))))
        assert.isTrue(Exit.isFailure(died) && Cause.isDie(died.cause))
        const inside = yield* Deferred.make<void>()
        const hanging = yield* Effect.fork(
          run(write(3).pipe(Effect.zipRight(Deferred.succeed(inside, undefined)), Effect.zipRight(Effect.never)))
        )
        yield* Deferred.await(inside)
        yield* Fiber.interrupt(hanging)
        assert.deepStrictEqual(yield* written, [])
        assert.strictEqual(yield* run(Effect.as(write(4), "done")), "done")
        assert.deepStrictEqual(yield* written, [4])
      })
    )

    it.effect("Transaction nests as savepoints: an inner failure can be handled, an outer one rolls back all", () =>
      Effect.gen(function* () {
        yield* empty
        const { run } = yield* Transaction
        const inner = (number: number) => run(Effect.zipRight(write(number), new Refused()))
        yield* run(write(1).pipe(Effect.zipRight(Effect.ignore(inner(2))), Effect.zipRight(write(3))))
        assert.deepStrictEqual(yield* written, [1, 3])
        yield* run(Effect.zipRight(run(write(4)), new Refused())).pipe(Effect.ignore)
        assert.deepStrictEqual(yield* written, [1, 3])
      })
    )

    it.effect("Transaction reports whether the database is available", () => pingDatabase)
  }
)
