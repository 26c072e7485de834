import { Context, type DateTime, type Effect, type Option } from "effect"
import type { A2aReceiver, A2aSender } from "../A2aAccess.ts"
import type { A2aTask, A2aTaskId } from "./A2aTask.ts"
import type { ClaimedPush, PushEnd, PushNotification } from "./PushNotification.ts"

/** Stores notifications. Secrets are sealed in their rows. Removed with their tasks. */
export class PushNotificationRepository extends Context.Tag("@berth/PushNotificationRepository")<
  PushNotificationRepository,
  {
    /**
     * Replaces a notification with the same id. False if the task has `limit` others. Joins the running transaction.
     */
    readonly store: (notification: PushNotification, limit: number) => Effect.Effect<boolean>
    /** Oldest first. */
    readonly list: (taskId: A2aTaskId) => Effect.Effect<ReadonlyArray<PushNotification>>
    readonly find: (taskId: A2aTaskId, id: string) => Effect.Effect<Option.Option<PushNotification>>
    readonly remove: (taskId: A2aTaskId, id: string) => Effect.Effect<boolean>
    /**
     * Claims due notifications of ended tasks until `until`, callers in turn; `perCaller` includes existing claims.
     * Concurrent claims are disjoint. A notification whose secrets cannot be decrypted fails.
     */
    readonly claim: (
      limits: { readonly total: number; readonly perCaller: number },
      now: DateTime.Utc,
      until: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<ClaimedPush>>
    /** Present rights of the caller of a task at its agent; none if the agent or an account is deleted or suspended. */
    readonly findAccess: (
      task: Pick<A2aTask, "agentId" | "callerId">
    ) => Effect.Effect<Option.Option<{ readonly receiver: A2aReceiver; readonly sender: A2aSender }>>
    /** Ends an attempt. No effect if the attempt lost its claim. */
    readonly record: (claimed: ClaimedPush, end: PushEnd) => Effect.Effect<void>
  }
>() {}
