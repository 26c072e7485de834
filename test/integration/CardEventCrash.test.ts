import type { CardEvent } from "@berth/domain/billing/events/CardEvent"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { SubscriptionRepository } from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { makeCardEventWorker, storeCardEvents, processCardJobs } from "../support/billing/CardEventWorkers.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { insertUser } from "../support/Samples.ts"
import { compileProgram, readFirstLine, killProcess, startProgram } from "../support/processes/ChildProcess.ts"
import { sql } from "../support/Sql.ts"

const purchased = (userId: string, kind: "credits" | "plan"): CardEvent => ({
  id: `evt_${kind}`,
  type: "checkout.session.completed",
  created: 10,
  data: {
    object: {
      id: `cs_${kind}`,
      customer: "cus_1",
      payment_status: "paid",
      metadata: { kind, credits: "15", plan: "pro", userId },
      ...(kind === "plan"
        ? { mode: "subscription", subscription: "sub_1" }
        : { mode: "payment", payment_intent: "pi_1" })
    }
  }
})

describe("A worker that is killed", () => {
  for (const [when, word] of [
    ["when everything that follows from an event is written, and nothing of it is committed", "written"],
    ["when it is, and the queue does not know it", "applied"]
  ] as const)
    it.scopedLive(
      `${when} loses nothing and doubles nothing`,
      () =>
        Effect.gen(function* () {
          const url = yield* migratedDatabase
          const worker = yield* makeCardEventWorker(url)
          const program = yield* compileProgram("CardEventApplier.ts")
          yield* Effect.provide(
            Effect.gen(function* () {
              const { id } = yield* insertUser()
              const state = Effect.gen(function* () {
                const { credits, plan } = yield* Effect.flatten((yield* UserRepository).find(id))
                const subscription = yield* (yield* SubscriptionRepository).find(id)
                return [credits, plan, subscription._tag]
              })
              yield* storeCardEvents([purchased(id, "credits"), purchased(id, "plan")])
              const child = yield* startProgram(program, {
                DATABASE_URL: Redacted.value(url),
                EVENT: "evt_credits",
                STOP: word
              })
              assert.strictEqual(yield* readFirstLine(child), word)
              yield* killProcess(child)
              assert.deepStrictEqual(yield* state, [word === "written" ? 0 : 15, "free", "None"])
              yield* processCardJobs([worker])
              assert.deepStrictEqual(yield* state, [15, "pro", "Some"])
              assert.deepStrictEqual(
                yield* sql`select name, count(*)::int from outbox where name = 'reconfigure-instance' group by 1`,
                [{ name: "reconfigure-instance", count: 1 }]
              )
            }),
            worker
          )
        }),
      120_000
    )
})
