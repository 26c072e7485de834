import { Context, type DateTime, type Effect, type Option } from "effect"
import type { A2aReceiver, A2aSender } from "../A2aAccess.ts"
import type { A2aTask, A2aTaskId } from "./A2aTask.ts"
import type { ClaimedPush, PushEnd, PushNotification } from "./PushNotification.ts"

/** Stores notifications. Secrets are sealed in their rows. Removed with their tasks. */
export class PushNotificationRepository extends Context.Tag("@berth/PushNotificationRepository")<
  PushNotificationRepository,
  {
    /** Replaces one with the same id. False when the task has `limit` others. Joins the running transaction. */
    readonly store: (notification: PushNotification, limit: number) => Effect.Effect<boolean>
    /** Oldest first. */
    readonly list: (taskId: A2aTaskId) => Effect.Effect<ReadonlyArray<PushNotification>>
    readonly find: (taskId: A2aTaskId, id: string) => Effect.Effect<Option.Option<PushNotification>>
    readonly remove: (taskId: A2aTaskId, id: string) => Effect.Effect<boolean>
    /**
     * Takes due notifications of ended tasks until `until`, callers in turn; `perCaller` includes those that are claimed already.
     * Concurrent claims never take the same one. One whose secrets cannot be decrypted ends as failed.
     */
    readonly claim: (
      limits: { readonly total: number; readonly perCaller: number },
      now: DateTime.Utc,
      until: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<ClaimedPush>>
    /** The rights of the caller of a task at its agent now; none when the agent or one of both accounts is gone or suspended. */
    readonly findAccess: (
      task: Pick<A2aTask, "agentId" | "callerId">
    ) => Effect.Effect<Option.Option<{ readonly receiver: A2aReceiver; readonly sender: A2aSender }>>
    /** Ends an attempt. Without effect when the attempt lost its claim. */
    readonly record: (claimed: ClaimedPush, end: PushEnd) => Effect.Effect<void>
  }
>() {}
