import { Effect, Option } from "effect"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { Tokens } from "../secrets/Tokens.ts"
import type { UserId } from "../shared/UserId.ts"
import type { ChannelKey, SuppliedSecrets } from "./ChannelConnection.ts"
import { ChannelConnections } from "./ChannelConnections.ts"
import { CheckChannelJob } from "./ChannelJobs.ts"
import { ChannelPlatforms } from "./ChannelPlatform.ts"
import { Chats } from "./Chats.ts"

interface NewConnection {
  readonly secrets: SuppliedSecrets
  readonly answersBots?: boolean | undefined
  /**
   * Sent to the expected owner after the bot is connected; deferred to the chat's first message where a bot cannot
   * write first.
   */
  readonly greeting?: { readonly chatId: string; readonly text: string } | undefined
}

/** The connections of agents to messaging platforms. */
export class Channels extends Effect.Service<Channels>()("@berth/Channels", {
  effect: Effect.gen(function* () {
    const connections = yield* ChannelConnections
    const chats = yield* Chats
    const outbox = yield* Outbox
    const platforms = yield* ChannelPlatforms
    const tokens = yield* Tokens
    const transaction = yield* Transaction

    /**
     * Connects an agent, or replaces the secrets of its connection; a job checks them with the platform. Joins the
     * running transaction. The channel works while the agent's configuration and the owner's plan include it.
     */
    const connect = Effect.fn("Channels.connect")(function* (
      ownerId: UserId,
      key: ChannelKey,
      { answersBots = false, greeting, secrets }: NewConnection
    ) {
      const webhookSecret = yield* tokens.make
      yield* transaction.run(
        Effect.gen(function* () {
          yield* connections.save(key, { secrets: { ...secrets, webhookSecret }, answersBots })
          if (greeting !== undefined) {
            const chat = { ...key, chatId: greeting.chatId }
            yield* chats.enqueue(chat, greeting.text)
            yield* chats.expectOwner(chat)
          }
          yield* outbox.append(CheckChannelJob, key, ownerId)
        })
      )
    })

    /** Removes the connection with its chats; conversations stay. Notifies the platform, best-effort. */
    const disconnect = Effect.fn("Channels.disconnect")(function* (key: ChannelKey) {
      const found = yield* connections.findWithSecrets(key)
      if (!(yield* connections.remove(key)) || Option.isNone(found)) return
      const { connection, secrets } = found.value
      const adapter = platforms.get(key.platform)
      if (adapter === undefined || connection.bot === null) return
      yield* adapter
        .deactivate({ agentId: key.agentId, bot: connection.bot, secrets })
        .pipe(Effect.catchAll((failure) => Effect.logInfo("Channel not deactivated at the platform", failure)))
    })

    const list = connections.list

    return {
      connect,
      disconnect,
      list,
      readSecrets: connections.readSecrets,
      verifyOwner: chats.verifyOwner,
      setAnswersBots: connections.setAnswersBots
    }
  })
}) {}
