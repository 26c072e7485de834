import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import { passwordResetHandler } from "@berth/worker/jobs/JobHandlers"
import { SendPasswordResetJob } from "@berth/domain/recovery/password-reset/PasswordResets"

const job = (payload: unknown) => ({
  id: "job_9",
  name: SendPasswordResetJob.name,
  payload,
  trace: null,
  attempt: 1,
  isLastAttempt: false
})

const recording = Effect.map(Ref.make<ReadonlyArray<readonly [string, string]>>([]), (requests) => ({
  requests,
  layer: Layer.mock(PasswordResetMails, {
    _tag: "@berth/PasswordResetMails",
    send: (requestId, email) => Ref.update(requests, (current) => [...current, [requestId, email] as const])
  })
}))

describe("the job of a forgotten password", () => {
  it.effect("The job of a password reset mails the address of its request", () =>
    Effect.gen(function* () {
      const { requests, layer } = yield* recording
      yield* Effect.provide(passwordResetHandler.handle(job({ email: "ada@example.com" })), layer)
      assert.deepStrictEqual(yield* requests, [["job_9", "ada@example.com"]])
    })
  )

  it.effect("The job of a password reset fails permanently without an address", () =>
    Effect.gen(function* () {
      const { requests, layer } = yield* recording
      for (const [payload, tag] of [
        [{}, "JobUnsupported"],
        [null, "JobUnsupported"],
        [{ email: 5 }, "JobUnsupported"],
        [{ email: "nobody" }, "JobPermanentlyFailed"]
      ] as const) {
        const failure = yield* Effect.flip(Effect.provide(passwordResetHandler.handle(job(payload)), layer))
        assert.strictEqual(failure._tag, tag)
      }
      assert.deepStrictEqual(yield* requests, [])
    })
  )
})
