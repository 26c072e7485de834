import type { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { findEntitlements } from "@berth/domain/billing/subscriptions/Plan"
import type { PlanId } from "@berth/domain/shared/PlanId"
import type { SubscriptionStatus } from "@berth/domain/billing/subscriptions/Subscription"
import { SubscriptionRepository } from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { makeSubdomain } from "@berth/domain/instances/Instance"
import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"
import { insertAgent, insertChatSession, uniqueName } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import { signInNewUser, type SignedIn, TestApp } from "../support/TestApp.ts"

/** A user with an instance, an agent, and a conversation with it that has no messages. */
export const createOwnerWithAgent = (plan: PlanId = "pro", status: AgentStatus = "running") =>
  Effect.gen(function* () {
    const owner = yield* signInNewUser(plan)
    yield* (yield* InstanceRepository).ensure(owner.user.id, makeSubdomain(owner.user.id))
    const agent = yield* insertAgent(owner.user.id, { status })
    const { id: conversation } = yield* insertChatSession(agent)
    return { ...owner, agent, conversation }
  })
export type OwnerWithAgent = Effect.Effect.Success<ReturnType<typeof createOwnerWithAgent>>

export const exhaustUnits = ({ user }: SignedIn) =>
  Effect.gen(function* () {
    yield* (yield* UnitLedger).reserve(user, findEntitlements(user.plan).dailyUnits, yield* uniqueName("all"))
  })

export const withTableHidden =
  (table: "agents" | "outbox" | "social_tokens" | "users") =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(SqlClient, (sql) =>
      Effect.acquireUseRelease(
        Effect.orDie(sql`alter table ${sql(table)} rename to hidden`),
        () => effect,
        () => Effect.orDie(sql`alter table hidden rename to ${sql(table)}`)
      )
    )

/** Runs an effect while updates of users match no row, as if each had just been deleted. */
export const withVanishingUsers = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.orDie(
      sql`
          create function vanish() returns trigger language plpgsql as 'begin return null; end';
          create trigger vanish before update on users for each row execute function vanish();`
    ),
    () => effect,
    () => Effect.orDie(sql`drop function vanish cascade`)
  )

export const lapseSubscription = ({ user }: SignedIn, status: SubscriptionStatus = "past_due") =>
  Effect.flatMap(SubscriptionRepository, ({ save }) => save({ userId: user.id, plan: user.plan, status }))

/** Submits the page that the mail about a changed email address links to. */
export const undoEmailChange = (token: string) =>
  Effect.flatMap(TestApp, ({ web }) =>
    web({
      method: "POST",
      path: "/undo-email-change",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ token }).toString()
    })
  )
