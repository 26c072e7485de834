import { JobUnsupported } from "@berth/domain/jobs/JobQueue"
import type { QueueName } from "@berth/domain/jobs/JobKind"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { findHandler, handledJobs } from "../../src/jobs/JobHandlers.ts"
import { unusedPorts } from "./UnusedPorts.ts"

/** A stored payload of each kind. Append-only, since jobs of a release can wait when the next one starts. */
const stored: ReadonlyArray<readonly [queue: QueueName, name: string, payload: Readonly<Record<string, unknown>>]> = [
  ["tasks", "scheduled-task", { runId: "run_1" }],
  ["tasks", "skill-execution", { runId: "run_1" }],
  ["tasks", "deliver-a2a-message", { id: "a2a_1" }],
  ["tasks", "check-verification", { verificationId: "ver_1" }],
  ["tasks", "reconfigure-instance", { userId: "usr_1" }],
  ["tasks", "act-on-instance", { userId: "usr_1", action: "start" }],
  ["tasks", "check-channel", { agentId: "agt_1", platform: "platformA" }],
  ["tasks", "answer-chat", { agentId: "agt_1", platform: "platformA", chatId: "1" }],
  ["tasks", "forget-card-customers", { customerIds: ["cus_1"] }],
  ["tasks", "reset-claimed-contents", { userId: "usr_1" }],
  ["tasks", "remove-account", { userId: "usr_1" }],
  ["tasks", "remove-instance", { userId: "usr_1" }],
  ["provision", "new-agent", { agentId: "agt_1" }],
  ["mail", "send-mail", { mailId: "mal_1", sealed: "sealed", expiresAt: "2026-01-01T00:00:00.000Z" }],
  ["mail", "forgotten-password", { email: "ada@example.com" }],
  ["card-events", "apply-card-event", { eventId: "evt_1" }],
  ["card-events", "match-card-events", { userId: "usr_1" }]
]

const isSupported = (queue: QueueName, name: string, payload: unknown) =>
  findHandler(queue)({ id: "1", name, payload, trace: null, attempt: 1, isLastAttempt: false }).pipe(
    Effect.provide(unusedPorts),
    Effect.exit,
    Effect.map((exit) => Exit.isSuccess(exit) || !(Cause.squash(exit.cause) instanceof JobUnsupported))
  )

describe("Payloads of jobs", () => {
  it.effect("Payloads of earlier releases, and with members of later ones, are supported", () =>
    Effect.gen(function* () {
      for (const [queue, name, payload] of stored) {
        assert.isTrue(yield* isSupported(queue, name, payload), name)
        assert.isTrue(yield* isSupported(queue, name, { ...payload, later: true }), name)
        assert.isFalse(yield* isSupported(queue, name, { version: 2 }), name)
      }
    })
  )

  it("Payloads of every kind of job are among those of earlier releases", () => {
    assert.includeMembers(
      stored.map(([, name]) => name),
      handledJobs.map(({ name }) => name)
    )
  })
})
