import { DateTime, Effect } from "effect"
import { Outbox } from "../jobs/Outbox.ts"
import { ChannelConnections } from "./ChannelConnections.ts"
import { AnswerChatJob, CheckChannelJob } from "./ChannelJobs.ts"
import { Chats } from "./Chats.ts"

const batch = 100

/** Recovers work without a job: chats of dead workers, postponed messages, and checks of connections. */
export class ChannelRecovery extends Effect.Service<ChannelRecovery>()("@berth/ChannelRecovery", {
  effect: Effect.gen(function* () {
    const chats = yield* Chats
    const connections = yield* ChannelConnections
    const outbox = yield* Outbox

    const resumeChats = Effect.gen(function* () {
      const stranded = yield* chats.listStranded(batch)
      yield* Effect.forEach(stranded, ({ chat, ownerId }) => outbox.append(AnswerChatJob, chat, ownerId), {
        discard: true
      })
    })

    /** Checks unreachable connections after a minute, connected ones after an hour. */
    const repeatChecks = Effect.gen(function* () {
      const now = yield* DateTime.now
      const due = yield* connections.listDue(
        { retry: DateTime.subtract(now, { minutes: 1 }), renew: DateTime.subtract(now, { hours: 1 }) },
        batch
      )
      yield* Effect.forEach(
        due,
        ({ agentId, ownerId, platform }) => outbox.append(CheckChannelJob, { agentId, platform }, ownerId),
        { discard: true }
      )
    })

    return { resumeChats, repeatChecks }
  })
}) {}
