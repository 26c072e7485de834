import { ChannelReaders } from "@berth/domain/channels/ChannelReaders"
import { ChannelRecovery } from "@berth/domain/channels/ChannelRecovery"
import { Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

/** Recurring tasks of channels: readers, stranded chats and repeated checks. */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { repeatChecks, resumeChats } = yield* ChannelRecovery
    const { readUnread } = yield* ChannelReaders
    yield* runRecurringTask("read channels", "2 seconds", Effect.withTracerEnabled(readUnread, false))
    yield* runRecurringTask("resume chats", "1 second", Effect.withTracerEnabled(resumeChats, false))
    yield* runRecurringTask("check channels", "30 seconds", Effect.withTracerEnabled(repeatChecks, false))
  })
).pipe(Layer.provide(Layer.merge(ChannelReaders.Default, ChannelRecovery.Default)))
