import { Effect, Layer } from "effect"
import type { User } from "../shared/User.ts"
import { Users } from "../accounts/Users.ts"
import { ChatSessions } from "../interaction/conversations/ChatSessions.ts"
import { Conversations } from "../interaction/conversations/Conversations.ts"
import { type ChannelTurn, type ChannelTurnOutcome, ChannelTurns } from "./ChannelTurns.ts"
import { formatForModel } from "./InboundText.ts"
import { VoiceMessages } from "./VoiceMessages.ts"

const refused = (why: Extract<ChannelTurnOutcome, { readonly type: "refused" }>["why"]) => () =>
  Effect.succeed<ChannelTurnOutcome>({ type: "refused", why })
const failed = ({ reason }: { readonly reason: string }) =>
  Effect.succeed<ChannelTurnOutcome>({ type: "failed", reason })
const busy = (reason: string) => () => Effect.succeed<ChannelTurnOutcome>({ type: "busy", reason })

/** Runs turns in this process. */
export const layer = Layer.effect(
  ChannelTurns,
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const sessions = yield* ChatSessions
    const users = yield* Users
    const voices = yield* VoiceMessages

    /** Returns the message for the model. A message with text is answered even if its recordings fail. */
    const readMessage = (owner: User, { agentId, message, spoken }: ChannelTurn) => {
      if (spoken === undefined) return Effect.succeed(message)
      const transcribed = Effect.map(voices.transcribe(owner, agentId, spoken), (texts) =>
        formatForModel(spoken.content, texts)
      )
      return spoken.content.text.trim() === ""
        ? transcribed
        : Effect.catchTags(transcribed, {
            RecordingRejected: () => Effect.succeed(message),
            TranscriptionUnavailable: () => Effect.succeed(message)
          })
    }

    const answer = Effect.fn("ChannelTurns.answer")(function* (turn: ChannelTurn) {
      const { agentId, fromOwner, invocation, messageId: id, platform, repeats, sessionId, unitLimit } = turn
      const owner = yield* users.find(turn.userId)
      if (owner.suspendedAt !== null) return yield* refused("owner")()
      const session = yield* sessions.ensure(owner.id, { agentId, fromOwner, id: sessionId, platform })
      const end = yield* conversations.answerOnce(owner, {
        id,
        session,
        platform,
        repeats,
        invocation,
        unitLimit,
        message: readMessage(owner, turn)
      })
      if (end._tag === "Answered") return { type: "answered", reply: end.reply.content } satisfies ChannelTurnOutcome
      return { type: end.callBegun ? "failed" : "unbegun", reason: end.reason } satisfies ChannelTurnOutcome
    })

    return ChannelTurns.of({
      answer: (turn) =>
        answer(turn).pipe(
          Effect.catchTags({
            UserNotFound: refused("owner"),
            AgentNotFound: refused("agent"),
            RunningAgentNotFound: refused("agent"),
            UnitsExhausted: refused("units"),
            BudgetExceeded: refused("budget"),
            PendingMessageLimitReached: busy("too many messages wait"),
            // The session was deleted concurrently; the next call creates it again.
            ChatSessionNotFound: busy("the conversation was deleted"),
            MessageInvalid: failed,
            RecordingRejected: failed,
            TranscriptionUnavailable: refused("speech")
          })
        )
    })
  })
)
