import { PasswordHasher } from "@berth/domain/accounts/password/PasswordHasher"
import * as Argon2PasswordHasher from "@berth/infra/crypto/Argon2PasswordHasher"
import { niceValue } from "@berth/infra/crypto/Argon2Threads"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Redacted } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { measureCpuTime } from "../../support/CpuTime.ts"

const hasher = Argon2PasswordHasher.layer({ maxConcurrent: 2 })
const password = Redacted.make("correct horse \u0000 battery 🐴")

/** Milliseconds of processor time. */
const least = <A>(work: Effect.Effect<A>) =>
  Effect.map(Effect.replicateEffect(measureCpuTime(work), 7), (runs) =>
    Math.min(...runs.map(([took]) => Duration.toMillis(took)))
  )

describe("PasswordHasher", () => {
  it.live("PasswordHasher verifies the password it hashed and no other", () =>
    Effect.gen(function* () {
      const { hash, verify } = yield* PasswordHasher
      const [one, two] = yield* Effect.all([hash(password), hash(password)])
      assert.notStrictEqual(one, two)
      assert.isTrue(yield* verify(password, one))
      for (const other of ["correct horse ", "", "Correct horse \u0000 battery 🐴"])
        assert.isFalse(yield* verify(Redacted.make(other), one))
    }).pipe(Effect.provide(hasher))
  )

  it.live("PasswordHasher uses argon2id with 19 MiB, two passes and one lane", () =>
    Effect.gen(function* () {
      const { hash } = yield* PasswordHasher
      assert.match(yield* hash(password), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    }).pipe(Effect.provide(hasher))
  )

  it.live("PasswordHasher never truncates a password", () =>
    Effect.gen(function* () {
      const { hash, verify } = yield* PasswordHasher
      const long = "x".repeat(1023)
      const hashed = yield* hash(Redacted.make(`${long}a`))
      assert.isFalse(yield* verify(Redacted.make(`${long}b`), hashed))
    }).pipe(Effect.provide(hasher))
  )

  it.live("PasswordHasher takes equal time for an unknown account, and rejects", () =>
    Effect.gen(function* () {
      const { hash, verify, verifyDummy } = yield* PasswordHasher
      const hashed = yield* hash(password)
      assert.isFalse(yield* verifyDummy(password))
      assert.isFalse(yield* verifyDummy(Redacted.make("nobody's password")))
      const [real, pretended] = [yield* least(verify(password, hashed)), yield* least(verifyDummy(password))]
      assert.isAtLeast(pretended, real * 0.5)
      assert.isAtMost(pretended, real * 2)
    }).pipe(Effect.provide(hasher))
  )

  it.live("PasswordHasher does not block the main thread", () =>
    Effect.gen(function* () {
      const { hash } = yield* PasswordHasher
      const hashing = yield* Effect.fork(Effect.replicateEffect(hash(password), 12))
      let turns = 0
      while ((yield* Fiber.poll(hashing))._tag === "None") {
        turns += 1
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      assert.isAbove(turns, 20)
    }).pipe(Effect.provide(hasher))
  )

  it.live.runIf(process.platform === "linux")("PasswordHasher hashes at a lower priority than requests", () =>
    Effect.gen(function* () {
      const { hash } = yield* PasswordHasher
      const countThreads = () =>
        readdirSync("/proc/self/task").filter((id) => {
          const fields = readFileSync(`/proc/self/task/${id}/stat`, "utf8").split(") ").at(-1)?.split(" ")
          return Number(fields?.[16]) === niceValue
        }).length
      const before = countThreads()
      yield* hash(password)
      assert.strictEqual(countThreads(), before + 1)
    }).pipe(Effect.provide(hasher))
  )

  it.live("PasswordHasher fails for an unreadable hash, and continues", () =>
    Effect.gen(function* () {
      const { hash, verify } = yield* PasswordHasher
      assert.isTrue(Exit.isFailure(yield* Effect.exit(verify(password, "not a hash"))))
      assert.isTrue(yield* verify(password, yield* hash(password)))
    }).pipe(Effect.provide(hasher))
  )
})
