import { encodeSseEvent } from "@berth/api/http/Sse"
import type { A2aPeer } from "@berth/domain/a2a/tasks/A2aPeers"
import { isEnded } from "@berth/domain/a2a/tasks/A2aTask"
import type { A2aTasks, FollowedTask } from "@berth/domain/a2a/tasks/A2aTasks"
import { presentStatusUpdate, presentTaskEvent, presentText } from "@berth/domain/a2a/tasks/TaskPresentation"
import { readerFromStream } from "@berth/domain/ai/streams/ChunkReader"
import {
  type AnswerEvent,
  type AnswerPosition,
  formatAnswerEventId,
  isAnswerEnd,
  parseAnswerEventId
} from "@berth/domain/interaction/answers/AnswerEvent"
import { HttpServerRequest } from "@effect/platform"
import { Chunk, Effect, Option, Stream } from "effect"
import { respondFrames } from "../../http/SseResponse.ts"

type Json = Readonly<Record<string, unknown>>

/** An event of a task. After a disconnect, a client continues after the last received event with an id. */
export interface TaskEvent {
  readonly id?: string
  readonly data: Json
}

interface Progress {
  readonly text: string
  readonly isOpen: boolean
}

/**
 * Streams the events of a task: the task, its text, and its end. After `last`, the task contains the earlier text. If
 * deltas are pruned or differ from the reply, the complete reply replaces them.
 */
export const streamTask = (
  tasks: A2aTasks,
  peer: A2aPeer,
  { events, task }: FollowedTask,
  last: Option.Option<AnswerPosition>
): Stream.Stream<TaskEvent> => {
  if (isEnded(task)) return Stream.make({ data: presentTaskEvent(task) })
  const after = Option.match(last, {
    onNone: () => 0,
    onSome: (position) => (position.messageId === task.turnId ? position.after : 0)
  })
  const open = (text: string): TaskEvent => ({ data: presentTaskEvent({ ...task, reply: text === "" ? null : text }) })
  const present = Effect.fnUntraced(function* ({ isOpen, text }: Progress, chunk: Chunk.Chunk<AnswerEvent>) {
    const read = (isKnown: boolean) =>
      Chunk.toReadonlyArray(chunk)
        .flatMap((event) => (event.type === "delta" && event.n <= after === isKnown ? [event.text] : []))
        .join("")
    const [before, added] = [text + read(true), read(false)]
    const all = before + added
    const end = Chunk.unsafeLast(chunk)
    const id = formatAnswerEventId(task.turnId, end.n)
    if (!isAnswerEnd(end) && end.n < after) return [{ text: all, isOpen }, Chunk.empty<TaskEvent>()] as const
    const frames = isOpen ? [] : [open(before)]
    if (added !== "") frames.push({ id, data: presentText(task, added, { append: before !== "" }) })
    if (isAnswerEnd(end)) {
      if (end.type === "done" && end.reply.content !== all)
        frames.push({ data: presentText(task, end.reply.content, { append: false, isLast: true }) })
      // The conversation may be deleted by now, together with its tasks.
      const ended = yield* Effect.option(tasks.get(peer, task.id))
      if (Option.isSome(ended)) frames.push({ id, data: presentStatusUpdate(ended.value) })
    }
    return [{ text: all, isOpen: true }, Chunk.fromIterable(frames)] as const
  })
  const opening = after === 0 ? Stream.make(open("")) : Stream.empty
  const rest = events.pipe(
    Stream.chunks,
    Stream.filter(Chunk.isNonEmpty),
    Stream.mapAccumEffect({ text: "", isOpen: after === 0 }, present),
    Stream.flattenChunks
  )
  return Stream.concat(opening, rest)
}

/** Reads the id of the last event that the client received. */
export const lastReceivedEvent = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
  Option.flatMap(Option.fromNullable(headers["last-event-id"]), parseAnswerEventId)
)

/** Streams the events of a task as a response; `present` wraps an event in the envelope of the binding. */
export const respondTaskEvents = <E, R>(
  events: Effect.Effect<Stream.Stream<TaskEvent>, E, R>,
  present: (data: Json) => unknown
) =>
  Effect.map(events, (all) =>
    respondFrames(
      readerFromStream(Stream.map(all, ({ data, id }) => encodeSseEvent({ id, data: JSON.stringify(present(data)) })))
    )
  )
