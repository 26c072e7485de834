import { PasswordResetMails } from "@berth/domain/accounts/PasswordResetMails"
import { ForgottenPassword } from "@berth/domain/jobs/Job"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import { forgottenPassword } from "../../src/accounts/ForgottenPasswordJob.ts"

const job = (payload: unknown) => ({
  id: "job_9",
  name: ForgottenPassword.name,
  payload,
  trace: null,
  attempt: 1,
  attempts: 5
})

const recording = Effect.map(Ref.make<ReadonlyArray<readonly [string, string]>>([]), (asked) => ({
  asked,
  layer: Layer.mock(PasswordResetMails, {
    _tag: "@berth/PasswordResetMails",
    answer: (requestId, email) => Ref.update(asked, (so) => [...so, [requestId, email] as const])
  })
}))

describe("the job of a forgotten password", () => {
  it.effect("answers the request that it is, by the address in it", () =>
    Effect.gen(function* () {
      const { asked, layer } = yield* recording
      yield* Effect.provide(forgottenPassword(job({ email: "ada@example.com" })), layer)
      assert.deepStrictEqual(yield* asked, [["job_9", "ada@example.com"]])
    })
  )

  it.effect("has no hope without an address", () =>
    Effect.gen(function* () {
      const { asked, layer } = yield* recording
      for (const payload of [{}, null, { email: 5 }, { email: "nobody" }]) {
        const failure = yield* Effect.flip(Effect.provide(forgottenPassword(job(payload)), layer))
        assert.strictEqual(failure._tag, "JobIsHopeless")
      }
      assert.deepStrictEqual(yield* asked, [])
    })
  )
})
