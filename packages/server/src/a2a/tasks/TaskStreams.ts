import type { A2aPeer } from "@berth/domain/a2a/tasks/A2aPeers"
import { isEnded } from "@berth/domain/a2a/tasks/A2aTask"
import type { A2aTasks, FollowedTask } from "@berth/domain/a2a/tasks/A2aTasks"
import { presentStatusUpdate, presentTaskEvent, presentText } from "@berth/domain/a2a/tasks/TaskPresentation"
import type { AnswerEvent } from "@berth/domain/interaction/answers/AnswerEvent"
import { Chunk, Effect, Option, Stream } from "effect"

type Json = Readonly<Record<string, unknown>>

/**
 * The events of a task: the task, its text as it comes, and its end. Deltas that are gone, or that differ from the reply, are
 * made good by the whole reply.
 */
export const streamTask = (tasks: A2aTasks, peer: A2aPeer, { events, task }: FollowedTask): Stream.Stream<Json> => {
  const opening = Stream.make(presentTaskEvent(task))
  if (isEnded(task)) return opening
  const present = (sent: string, chunk: Chunk.Chunk<AnswerEvent>) =>
    Effect.gen(function* () {
      const text = Chunk.toReadonlyArray(chunk)
        .flatMap((event) => (event.type === "delta" ? [event.text] : []))
        .join("")
      const all = sent + text
      const frames: Array<Json> = text === "" ? [] : [presentText(task, text, { append: sent !== "" })]
      const end = Option.getOrUndefined(Chunk.last(chunk))
      if (end === undefined || end.type === "delta") return [all, Chunk.fromIterable(frames)] as const
      if (end.type === "done" && end.reply.content !== all)
        frames.push(presentText(task, end.reply.content, { append: false, isLast: true }))
      // The conversation can be gone by now, and its tasks with it.
      const ended = yield* Effect.option(tasks.get(peer, task.id))
      if (Option.isSome(ended)) frames.push(presentStatusUpdate(ended.value))
      return [all, Chunk.fromIterable(frames)] as const
    })
  const rest = events.pipe(Stream.chunks, Stream.mapAccumEffect("", present), Stream.flattenChunks)
  return Stream.concat(opening, rest)
}
