import { DateTime, Duration, Option, Schema } from "effect"
import { idSchema } from "../../ids/IdGenerator.ts"
import type { MessageId } from "../../interaction/Conversation.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

export const A2aTaskId = idSchema("A2aTaskId", "Id of a task of an agent, tsk_…")
export type A2aTaskId = typeof A2aTaskId.Type

/** A task is one turn: it begins as `working` and accepts no further messages. */
export const A2aTaskState = Schema.Literal("working", "completed", "failed", "canceled").annotations({
  identifier: "A2aTaskState"
})
export type A2aTaskState = typeof A2aTaskState.Type

/** Message of a client, with the members that the protocol returns. */
export interface TaskMessage {
  /** Chosen by the client. A repeated message under the same id is the same task. */
  readonly messageId: string
  readonly contextId: string | undefined
  /** The task that the message continues. */
  readonly taskId: string | undefined
  readonly text: string
  /** Context, parts and metadata as received. */
  readonly content: Readonly<Record<string, unknown>>
}

/** A message of a client to an agent, with its turn. */
export interface A2aTask {
  readonly id: A2aTaskId
  readonly agentId: AgentId
  readonly callerId: UserId
  /** The client's id of the conversation. */
  readonly contextId: string
  readonly clientMessageId: string
  readonly content: Readonly<Record<string, unknown>>
  readonly turnId: MessageId
  readonly state: A2aTaskState
  /** The reply of a completed task. */
  readonly reply: string | null
  readonly failure: string | null
  readonly createdAt: DateTime.Utc
  /** Time of the last state change. */
  readonly updatedAt: DateTime.Utc
}

export type NewA2aTask = Pick<
  A2aTask,
  "id" | "agentId" | "callerId" | "contextId" | "clientMessageId" | "content" | "turnId" | "createdAt"
>

export const isEnded = ({ state }: Pick<A2aTask, "state">): boolean => state !== "working"

/** Maximum tasks of a caller at an agent: stored ended tasks, of which the newest are kept, and tasks in progress. */
export const taskLimits = { ended: 1_000, inProgress: 16 }

/** Maximum characters of a message as JSON. */
export const maximumTaskContentLength = 200_000

/** Retention of ended tasks; their conversations stay. */
export const taskRetention = Duration.days(30)

/** Position of a task in a list, of the latest state first. */
type TaskPosition = Pick<A2aTask, "id" | "updatedAt">

/** Formats the position of the last task of a page; the next page begins after it, even if the task changes. */
export const formatPageToken = ({ id, updatedAt }: TaskPosition): string => `${updatedAt.epochMillis}:${id}`

export const parsePageToken = (token: string): Option.Option<TaskPosition> => {
  const [, millis, id] = /^(\d{1,15}):(.+)$/.exec(token) ?? []
  return id === undefined
    ? Option.none()
    : Option.map(DateTime.make(Number(millis)), (updatedAt) => ({ id: A2aTaskId.make(id), updatedAt }))
}

/** Filter of tasks. A page begins after the position `after`. */
export interface TaskFilter {
  readonly contextId: string | undefined
  readonly state: A2aTaskState | undefined
  /** Lower bound of the time of the state, inclusive. */
  readonly since: DateTime.Utc | undefined
  readonly after: TaskPosition | undefined
  readonly limit: number
}

/** A message of another owner begins with its sender, as named by the service. */
export const formatTaskMessage = (
  text: string,
  caller: { readonly id: UserId; readonly name: string },
  ownerId: UserId
): string => (caller.id === ownerId ? text : `Message from ${JSON.stringify(caller.name)} (${caller.id}):\n\n${text}`)
