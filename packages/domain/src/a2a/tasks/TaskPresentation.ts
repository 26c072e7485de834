import { DateTime } from "effect"
import type { A2aTask, A2aTaskState } from "./A2aTask.ts"

/*
 * Tasks in the JSON of the A2A protocol 1.0.
 */

type Json = Readonly<Record<string, unknown>>

const states: Record<A2aTaskState, string> = {
  working: "TASK_STATE_WORKING",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  canceled: "TASK_STATE_CANCELED"
}

/** Maps the protocol's name of a state; undefined for states that tasks never have here. */
export const findTaskState = (name: string): A2aTaskState | undefined => {
  const known: ReadonlyArray<A2aTaskState> = ["working", "completed", "failed", "canceled"]
  return known.find((state) => states[state] === name)
}

/** The reply is the only artifact of a task. */
const artifactId = "reply"
const textArtifact = (text: string): Json => ({ artifactId, name: "Reply", parts: [{ text, mediaType: "text/plain" }] })

const presentStatus = ({ contextId, failure, id, state, turnId, updatedAt }: A2aTask): Json => ({
  state: states[state],
  timestamp: DateTime.formatIso(updatedAt),
  ...(state === "failed"
    ? {
        message: {
          messageId: `${turnId}-failure`,
          contextId,
          taskId: id,
          role: "ROLE_AGENT",
          parts: [{ text: `The message was not answered: ${failure ?? "no reason is known"}` }]
        }
      }
    : {})
})

export const presentTask = (
  task: A2aTask,
  {
    historyLength,
    includeArtifacts = true
  }: { readonly historyLength?: number | undefined; readonly includeArtifacts?: boolean | undefined } = {}
): Json => ({
  id: task.id,
  contextId: task.contextId,
  status: presentStatus(task),
  ...(includeArtifacts && task.reply !== null ? { artifacts: [textArtifact(task.reply)] } : {}),
  ...(historyLength === 0
    ? {}
    : {
        history: [
          {
            ...task.content,
            messageId: task.clientMessageId,
            contextId: task.contextId,
            taskId: task.id,
            role: "ROLE_USER"
          }
        ]
      })
})

/** Events of a stream of the protocol. */
export const presentTaskEvent = (task: A2aTask): Json => ({ task: presentTask(task) })
export const presentStatusUpdate = (task: A2aTask): Json => ({
  statusUpdate: { taskId: task.id, contextId: task.contextId, status: presentStatus(task) }
})
/** `append: false` replaces the text so far. */
export const presentText = (
  { contextId, id }: Pick<A2aTask, "id" | "contextId">,
  text: string,
  { append, isLast = false }: { readonly append: boolean; readonly isLast?: boolean }
): Json => ({
  artifactUpdate: {
    taskId: id,
    contextId,
    artifact: textArtifact(text),
    append,
    lastChunk: isLast
  }
})
