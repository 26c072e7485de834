import { Data, DateTime, Effect, Option, Schedule, Stream } from "effect"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import type { AnswerEvent, AnswerPosition } from "../../interaction/answers/AnswerEvent.ts"
import { ResumedAnswers } from "../../interaction/answers/ResumedAnswers.ts"
import { ChatSessionId, MessageId } from "../../interaction/Conversation.ts"
import { ChatSessions } from "../../interaction/conversations/ChatSessions.ts"
import { Conversations } from "../../interaction/conversations/Conversations.ts"
import { Digests } from "../../secrets/Digests.ts"
import type { A2aPeer } from "./A2aPeers.ts"
import {
  type A2aTask,
  A2aTaskId,
  formatTaskMessage,
  isEnded,
  type TaskFilter,
  taskLimits,
  type TaskMessage
} from "./A2aTask.ts"
import { A2aOperationUnsupported, A2aTaskLimitReached, A2aTaskNotCancelable, A2aTaskNotFound } from "./A2aTaskErrors.ts"
import { A2aTaskRepository, type TaskScope } from "./A2aTaskRepository.ts"

/** A concurrent call has stored the message. */
class A2aTaskKnown extends Data.TaggedError("A2aTaskKnown")<object> {}

/** A task with the events of its answer from the first one. */
export interface FollowedTask {
  readonly task: A2aTask
  readonly events: Stream.Stream<AnswerEvent>
}

/** Poll interval of a turn for its cancellation, which any process may request. */
const cancelPoll = Schedule.spaced("500 millis")
/** A turn that runs longer is still reported as `working`. */
const cancelWait = Schedule.spaced("100 millis").pipe(Schedule.upTo("10 seconds"))

const scopeOf = ({ agent, caller }: A2aPeer): TaskScope => ({ agentId: agent.id, callerId: caller.id })

/** Tasks of the A2A protocol. A task is a turn of the agent, which its owner pays for. */
export class A2aTasks extends Effect.Service<A2aTasks>()("@berth/A2aTasks", {
  effect: Effect.gen(function* () {
    const repository = yield* A2aTaskRepository
    const conversations = yield* Conversations
    const sessions = yield* ChatSessions
    const answers = yield* ResumedAnswers
    const digests = yield* Digests
    const ids = yield* IdGenerator

    const get = Effect.fn("A2aTasks.get")(function* (peer: A2aPeer, id: A2aTaskId) {
      return yield* Effect.mapError(yield* repository.find(scopeOf(peer), id), () => new A2aTaskNotFound())
    })

    /** Conversation of a context. Callers and agents have separate conversations, even under equal context ids. */
    const findSessionId = ({ agent, caller }: A2aPeer, contextId: string) =>
      ChatSessionId.make(
        `chs_${digests.sha256(JSON.stringify(["a2a", agent.id, caller.id, contextId]), "hex").slice(0, 32)}`
      )

    const follow = ({ owner }: A2aPeer, task: A2aTask) =>
      Effect.map(
        Effect.mapError(answers.resume(owner.id, { messageId: task.turnId, after: 0 }), () => new A2aTaskNotFound()),
        ({ events }): FollowedTask => ({ task, events })
      )

    const findSent = (peer: A2aPeer, { content, messageId }: TaskMessage) =>
      repository.findByMessage(scopeOf(peer), { clientMessageId: messageId, content })

    /** A task ends with its first answer, so it accepts no further message. */
    const refuseContinuation = Effect.fnUntraced(function* (peer: A2aPeer, taskId: string) {
      yield* get(peer, A2aTaskId.make(taskId))
      return yield* new A2aOperationUnsupported({
        reason: "The task takes no further messages. Send the message with its `contextId` alone."
      })
    })

    const begin = Effect.fnUntraced(function* (peer: A2aPeer, message: TaskMessage) {
      const { agent, caller, owner } = peer
      const contextId = message.contextId ?? (yield* ids.next("ctx"))
      const { create, session } = yield* sessions.prepare(owner.id, {
        id: findSessionId(peer, contextId),
        agentId: agent.id,
        platform: "a2a"
      })
      const id = A2aTaskId.make(yield* ids.next("tsk"))
      const turnId = MessageId.make(yield* ids.next("msg"))
      const task = {
        id,
        agentId: agent.id,
        callerId: caller.id,
        contextId,
        clientMessageId: message.messageId,
        content: message.content,
        turnId,
        createdAt: yield* DateTime.now
      }
      const store = Effect.gen(function* () {
        const stored = yield* repository.insert(task, taskLimits)
        if (stored === "known") return yield* new A2aTaskKnown()
        if (stored === "full") return yield* new A2aTaskLimitReached({ limit: taskLimits.inProgress })
      })
      const canceled = repository
        .isCancelRequested(id)
        .pipe(
          Effect.repeat({ until: (isRequested) => isRequested, schedule: cancelPoll }),
          Effect.withTracerEnabled(false)
        )
      const events = yield* conversations.stream(
        owner,
        { id: turnId, session, message: formatTaskMessage(message.text, caller, owner.id), platform: "a2a" },
        { before: create, alongside: store, canceled }
      )
      yield* Effect.annotateCurrentSpan({ "a2a.task": id, "message.id": turnId, "session.id": session.id })
      return {
        task: { ...task, state: "working", reply: null, failure: null, updatedAt: task.createdAt },
        events
      } satisfies FollowedTask
    })

    /** Begins the task of a message and follows it from its first event. Idempotent by message id. */
    const send = Effect.fn("A2aTasks.send")(function* (peer: A2aPeer, message: TaskMessage) {
      if (message.taskId !== undefined) return yield* refuseContinuation(peer, message.taskId)
      const sent = yield* findSent(peer, message)
      if (Option.isSome(sent)) return yield* follow(peer, sent.value)
      const recover = Effect.gen(function* () {
        const stored = yield* Effect.mapError(yield* findSent(peer, message), () => new A2aTaskNotFound())
        return yield* follow(peer, stored)
      })
      return yield* Effect.catchTag(begin(peer, message), "A2aTaskKnown", () => recover)
    })

    const awaitEnd = Effect.fn("A2aTasks.awaitEnd")(function* (peer: A2aPeer, { events, task }: FollowedTask) {
      if (!isEnded(task)) yield* Stream.runDrain(events)
      return yield* get(peer, task.id)
    })

    /**
     * Follows a task in progress from its first event, in any process. An ended task is followed only by a client that
     * reconnects with a position in its answer.
     */
    const subscribe = Effect.fn("A2aTasks.subscribe")(function* (
      peer: A2aPeer,
      id: A2aTaskId,
      last: Option.Option<AnswerPosition>
    ) {
      const task = yield* get(peer, id)
      if (isEnded(task) && !Option.exists(last, ({ messageId }) => messageId === task.turnId))
        return yield* new A2aOperationUnsupported({ reason: "The task has ended." })
      return yield* follow(peer, task)
    })

    const list = Effect.fn("A2aTasks.list")((peer: A2aPeer, filter: TaskFilter) =>
      repository.list(scopeOf(peer), filter)
    )

    /** Cancels the turn, which is charged for its usage. */
    const cancel = Effect.fn("A2aTasks.cancel")(function* (peer: A2aPeer, id: A2aTaskId) {
      const task = yield* get(peer, id)
      if (!(yield* repository.requestCancel(task.id))) return yield* new A2aTaskNotCancelable()
      const seen = yield* Effect.repeat(get(peer, id), { until: isEnded, schedule: cancelWait }).pipe(
        Effect.zipRight(get(peer, id))
      )
      if (seen.state === "completed" || seen.state === "failed") return yield* new A2aTaskNotCancelable()
      return seen
    })

    return { send, awaitEnd, get, list, subscribe, cancel }
  })
}) {}
