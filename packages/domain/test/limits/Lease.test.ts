import { awaitClaim, makeSharedRenewal, whileRenewed } from "@berth/domain/limits/Lease"
import { assert, describe, it } from "@effect/vitest"
import { Data, Effect, Exit, Fiber, Option, Ref, Scope, TestClock } from "effect"

type Claim = Data.TaggedEnum<{
  readonly InProgress: { readonly holder: string }
  readonly Claimed: object
}>
const Claim = Data.taggedEnum<Claim>()

const counted = (effect: Effect.Effect<unknown>) =>
  Effect.map(Ref.make(0), (count) => ({
    count: Ref.get(count),
    effect: Effect.zipRight(
      Ref.update(count, (n) => n + 1),
      effect
    )
  }))

describe("whileRenewed", () => {
  it.effect("whileRenewed renews every five seconds until the work ends, in an uninterruptible region too", () =>
    Effect.gen(function* () {
      const renew = yield* counted(Effect.void)
      const work = yield* Effect.fork(
        Effect.uninterruptible(whileRenewed(renew.effect)(Effect.as(Effect.sleep("12 seconds"), "done")))
      )
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(yield* renew.count, 0)
      yield* TestClock.adjust("8 seconds")
      assert.strictEqual(yield* Fiber.join(work), "done")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* renew.count, 2)
    })
  )

  it.effect("whileRenewed continues the work and retries after a failed renewal", () =>
    Effect.gen(function* () {
      const renew = yield* counted(Effect.die("the database is restarting"))
      const work = yield* Effect.fork(whileRenewed(renew.effect)(Effect.as(Effect.sleep("16 seconds"), "done")))
      yield* TestClock.adjust("16 seconds")
      assert.strictEqual(yield* Fiber.join(work), "done")
      assert.strictEqual(yield* renew.count, 3)
    })
  )
})

describe("makeSharedRenewal", () => {
  it.scoped("makeSharedRenewal renews the held leases together, and none that its scope has released", () =>
    Effect.gen(function* () {
      const renewed: Array<ReadonlyArray<string>> = []
      const hold = yield* makeSharedRenewal((held: ReadonlyArray<string>) =>
        Effect.zipRight(
          Effect.sync(() => renewed.push(held)),
          renewed.length === 0 ? Effect.die("the database is restarting") : Effect.void
        )
      )
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(renewed, [])
      const short = yield* Scope.make()
      yield* Scope.extend(hold("short"), short)
      yield* hold("long")
      yield* TestClock.adjust("5 seconds")
      yield* Scope.close(short, Exit.void)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(renewed, [["short", "long"], ["long"]])
    })
  )
})

describe("awaitClaim", () => {
  const held = Claim.InProgress({ holder: "another" })
  const poll = Effect.succeed(Effect.sleep("1 second"))

  it.effect("awaitClaim returns a claim at once without a subscription when no other holder has the lease", () =>
    Effect.gen(function* () {
      const claimed = yield* awaitClaim(Effect.succeed<Claim>(Claim.Claimed()), {
        subscribe: () => Effect.dieMessage("subscribed"),
        atMost: "20 seconds"
      })
      assert.deepStrictEqual(claimed, Claim.Claimed())
    })
  )

  it.effect("awaitClaim claims again after the subscription and each wait until the holder has ended", () =>
    Effect.gen(function* () {
      const claims = yield* Ref.make(0)
      const claim = Effect.map(
        Ref.updateAndGet(claims, (n) => n + 1),
        (n): Claim => (n < 4 ? held : Claim.Claimed())
      )
      const awaited = yield* Effect.fork(
        awaitClaim(claim, {
          subscribe: ({ holder }) => Effect.zipRight(Effect.logDebug(holder), poll),
          atMost: "20 seconds"
        })
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([yield* Ref.get(claims), yield* Fiber.poll(awaited)], [3, Option.none()])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(awaited), Claim.Claimed())
      assert.strictEqual(yield* Ref.get(claims), 4)
    })
  )

  it.effect("awaitClaim returns in progress when another holder still has the lease at the limit", () =>
    Effect.gen(function* () {
      const claim = Effect.succeed<Claim>(held)
      const awaited = yield* Effect.fork(awaitClaim(claim, { subscribe: () => poll, atMost: "20 seconds" }))
      yield* TestClock.adjust("19 seconds")
      assert.deepStrictEqual(yield* Fiber.poll(awaited), Option.none())
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* Fiber.join(awaited), held)
    })
  )
})
