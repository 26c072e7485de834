import { Context, type DateTime, type Effect, type Option } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { A2aTask, A2aTaskId, NewA2aTask, TaskFilter } from "./A2aTask.ts"

/** Tasks of one caller at one agent. */
export interface TaskScope {
  readonly agentId: AgentId
  readonly callerId: UserId
}

/** Tasks end with their turns, in the transaction that stores the outcome of the turn. */
export class A2aTaskRepository extends Context.Tag("@berth/A2aTaskRepository")<
  A2aTaskRepository,
  {
    /**
     * `known`: the caller sent the same message under this id. `full`: the caller has too many tasks in progress.
     * Removes the caller's oldest ended tasks above the limit. Joins the running transaction.
     */
    readonly insert: (
      task: NewA2aTask,
      limits: { readonly ended: number; readonly inProgress: number }
    ) => Effect.Effect<"stored" | "known" | "full">
    readonly find: (scope: TaskScope, id: A2aTaskId) => Effect.Effect<Option.Option<A2aTask>>
    readonly findByMessage: (
      scope: TaskScope,
      message: Pick<A2aTask, "clientMessageId" | "content">
    ) => Effect.Effect<Option.Option<A2aTask>>
    /** Of the latest state first, with the count of all matches. */
    readonly list: (
      scope: TaskScope,
      filter: TaskFilter
    ) => Effect.Effect<{ readonly tasks: ReadonlyArray<A2aTask>; readonly total: number }>
    /** False if the task has ended. */
    readonly requestCancel: (id: A2aTaskId) => Effect.Effect<boolean>
    readonly isCancelRequested: (id: A2aTaskId) => Effect.Effect<boolean>
    /** Deletes tasks that ended before `before`; returns their number. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
