import { Effect, Layer } from "effect"
import { Users } from "../accounts/Users.ts"
import { ChatSessions } from "../interaction/conversations/ChatSessions.ts"
import { Conversations } from "../interaction/conversations/Conversations.ts"
import { type ChannelTurn, type ChannelTurnOutcome, ChannelTurns } from "./ChannelTurns.ts"

const refused = (why: Extract<ChannelTurnOutcome, { readonly type: "refused" }>["why"]) => () =>
  Effect.succeed<ChannelTurnOutcome>({ type: "refused", why })
const failed = ({ reason }: { readonly reason: string }) =>
  Effect.succeed<ChannelTurnOutcome>({ type: "failed", reason })
const busy = () => Effect.succeed<ChannelTurnOutcome>({ type: "busy" })

/** Turns in this process. */
export const layer = Layer.effect(
  ChannelTurns,
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const sessions = yield* ChatSessions
    const users = yield* Users

    const answer = Effect.fn("ChannelTurns.answer")(function* (turn: ChannelTurn) {
      const { agentId, message, messageId: id, platform, sessionId } = turn
      const owner = yield* users.find(turn.userId)
      if (owner.suspendedAt !== null) return yield* refused("owner")()
      const session = yield* sessions.ensure(owner.id, { agentId, id: sessionId, platform })
      const end = yield* conversations.answerOnce(owner, { id, session, message, platform })
      return end._tag === "Answered"
        ? ({ type: "answered", reply: end.reply.content } satisfies ChannelTurnOutcome)
        : yield* failed(end)
    })

    return ChannelTurns.of({
      answer: (turn) =>
        answer(turn).pipe(
          Effect.catchTags({
            UserNotFound: refused("owner"),
            AgentNotFound: refused("agent"),
            RunningAgentNotFound: refused("agent"),
            UnitsExhausted: refused("units"),
            PendingMessageLimitReached: busy,
            // The session was deleted at this moment; the next call creates it again.
            ChatSessionNotFound: busy,
            MessageInvalid: failed
          })
        )
    })
  })
)
