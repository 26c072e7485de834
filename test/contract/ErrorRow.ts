import { Email } from "@berth/domain/shared/Email"
import { MailedTokenRepository } from "@berth/domain/accounts/mailed-tokens/MailedTokenRepository"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { Digests, hashSecret } from "@berth/domain/secrets/Digests"
import { Tokens } from "@berth/domain/secrets/Tokens"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Context, DateTime, Effect, Layer, Redacted } from "effect"
import type { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import type { SpeechTest } from "@berth/infra/backend/SpeechTest"
import type { FakeAgentTasks } from "../fakes/FakeAgentTasks.ts"
import type { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { uniqueName } from "../support/Samples.ts"
import { type AppCall, signInNewUser, type SignedIn, openSession, TestApp } from "../support/TestApp.ts"
import { type OwnerWithAgent, createOwnerWithAgent, exhaustUnits } from "./OwnerFixtures.ts"

/** Fixtures of the rows, which no row changes. */
export class ErrorRowFixtures extends Context.Tag("@berth/test/ErrorRowFixtures")<
  ErrorRowFixtures,
  {
    /** On pro: one running agent of three. */
    readonly owner: OwnerWithAgent
    readonly stranger: OwnerWithAgent
    /** On starter, with its only agent. */
    readonly full: OwnerWithAgent
    /** Without a subscription or any objects. */
    readonly newcomer: SignedIn
    /** Without units today. */
    readonly spent: OwnerWithAgent
    /** Registered by email with `registeredPassword`. */
    readonly registered: SignedIn
    readonly resetToken: string
    readonly idle: OwnerWithAgent
  }
>() {}

export const registeredPassword = "correct horse battery"

const registered = Effect.gen(function* () {
  const { web } = yield* TestApp
  const email = `${yield* uniqueName("registered")}@example.com`
  yield* web({ method: "POST", path: "/api/register", json: { email, password: registeredPassword } })
  const found = yield* Effect.flatten((yield* UserRepository).findByEmail(Email.make(email)))
  return yield* openSession(found.user)
})

const resetTokenOf = ({ user }: SignedIn) =>
  Effect.gen(function* () {
    const tokens = yield* Tokens
    const token = yield* tokens.make
    const expiresAt = DateTime.add(yield* DateTime.now, { hours: 1 })
    const { email, id: userId } = user
    yield* (yield* MailedTokenRepository).replace(
      { userId, email, purpose: "password-reset", requestId: "job_1", tokenHash: hashSecret(yield* Digests, token) },
      expiresAt
    )
    return Redacted.value(token)
  })

export const errorRowFixturesLayer = Layer.effect(
  ErrorRowFixtures,
  Effect.gen(function* () {
    const spent = yield* createOwnerWithAgent("pro")
    yield* exhaustUnits(spent)
    const forgetful = yield* registered
    return {
      owner: yield* createOwnerWithAgent("pro"),
      stranger: yield* createOwnerWithAgent("pro"),
      full: yield* createOwnerWithAgent("starter"),
      newcomer: yield* signInNewUser(),
      spent,
      registered: forgetful,
      resetToken: yield* resetTokenOf(forgetful),
      idle: yield* createOwnerWithAgent("pro", "stopped")
    }
  })
)

export type ErrorRowFixturesService = Context.Tag.Service<ErrorRowFixtures>

export type CallCondition = <A, E, R>(
  effect: Effect.Effect<A, E, R>
) => Effect.Effect<A, E, R | AgentManagerTest | ModelProvidersTest | SpeechTest | FakeAgentTasks | SqlClient>

/** A row of the table of errors: a call and its response. */
export interface ErrorRow {
  readonly when: string
  /** Default: the web listener. */
  readonly listener?: "web" | "backend"
  /** As the contract declares it. */
  readonly route: `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} ${string}`
  /** Default: an anonymous call of the declared path without a body. */
  readonly call?: (scene: ErrorRowFixturesService) => Partial<AppCall>
  readonly during?: CallCondition
  readonly status: number
  readonly code: string
  /** Required additional members of the body. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Fields that the error names, and no others. */
  readonly fields?: ReadonlyArray<string>
}

export const makeRowCall = (row: ErrorRow, scene: ErrorRowFixturesService): AppCall => {
  const [method = "", path = ""] = row.route.split(" ")
  return { method, path, ...row.call?.(scene) }
}
