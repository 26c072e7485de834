import type { AgentId } from "@berth/domain/shared/AgentId"
import { makeFakeWhatsApp, type SentText } from "@berth/test/fakes/channels/FakeWhatsApp"
import { Array, Effect } from "effect"
import { type HostedBerth, hostBerth } from "./berth/HostedBerth.ts"
import { MeasurementNotPossible } from "./berth/MeasurementNotPossible.ts"
import { createOwners, type Owner } from "./berth/Owners.ts"
import { restoreUnits, upstreamEnvironment } from "./Chats.ts"
import { medianLatencies, summarizeLatencies } from "./measure/Latencies.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"
import { startServer } from "./servers/ServerProcess.ts"

/** Owners, each with a bot: pending messages are limited per owner, received ones per bot and chat. */
const ownerCount = 5
/** Below the limit of received messages per chat and minute. */
const messagesPerChat = 10
const replyTimeout = "60 seconds"

type Platform = Effect.Effect.Success<typeof makeFakeWhatsApp>
interface Bot {
  readonly account: ReturnType<Platform["addAccount"]>
  readonly webhook: string
}

const connectBot = ({ berth }: HostedBerth, platform: Platform, { visitor }: Owner): Effect.Effect<Bot> =>
  Effect.gen(function* () {
    const { id }: { readonly id: AgentId } = yield* visitor.provision("First mate", "openai/gpt-4o-mini")
    yield* visitor.untilRunning(id)
    const account = platform.addAccount()
    const { appSecret, token } = account
    yield* visitor.raw("PUT", `/api/agents/${id}/channels`, { body: { platformB: { token, appSecret } } })
    while (!platform.callbacks.has(account.phoneNumberId)) yield* Effect.sleep("100 millis")
    return { account, webhook: `${berth.webUrl}/api/webhooks/platformB/${id}` } satisfies Bot
  }).pipe(
    Effect.timeoutFail({
      duration: replyTimeout,
      onTimeout: () => new MeasurementNotPossible({ reason: "A bot was not connected within a minute." })
    }),
    Effect.orDie
  )

/** Milliseconds from the delivery of a message to the arrival of its reply. */
const measureReply = (platform: Platform, { account, webhook }: Bot, chatId: string) =>
  Effect.gen(function* () {
    const message = platform.makeText(chatId, "Ahoy! What is the weather like at sea?")
    const began = performance.now()
    const replied = yield* Effect.fork(
      Effect.async<number>((resume) => {
        const listener = ({ to }: SentText) => {
          if (to === chatId) resume(Effect.succeed(performance.now() - began))
        }
        platform.events.on("sent", listener)
        return Effect.sync(() => platform.events.off("sent", listener))
      })
    )
    yield* Effect.yieldNow()
    const status = yield* platform.deliver(account, webhook, [message])
    if (status !== 200) return yield* new MeasurementNotPossible({ reason: `The webhook answered ${status}.` })
    return yield* replied
  }).pipe(
    Effect.timeoutFail({
      duration: replyTimeout,
      onTimeout: () => new MeasurementNotPossible({ reason: "A message got no reply within a minute." })
    })
  )

/** Messages of a messaging platform, from the webhook to the reply at the platform. */
export const channels: Scenario = ({ chatsAtOnce, channelMessages, rounds }) =>
  Effect.gen(function* () {
    const upstream = yield* startServer("Upstream")
    const platform = yield* makeFakeWhatsApp
    const hosted = yield* hostBerth({
      ...upstreamEnvironment(upstream.origin),
      PLATFORM_B_API_URL: platform.apiUrl.href
    })
    const owners = yield* createOwners(hosted, ownerCount)
    const bots = yield* Effect.forEach(owners, (owner) => connectBot(hosted, platform, owner))

    let chats = 0
    /** A chat writes its next message after the reply to the last one. New chats begin until the messages are sent. */
    const converse = (count: number) =>
      Effect.forEach(Array.chunksOf(Array.range(1, count), messagesPerChat), (messages) => {
        chats += 1
        const [bot, chatId] = [bots[chats % bots.length], `1555${String(chats).padStart(8, "0")}`]
        return bot === undefined
          ? Effect.succeed<ReadonlyArray<number>>([])
          : Effect.forEach(messages, () => measureReply(platform, bot, chatId))
      }).pipe(Effect.map(Array.flatten))

    const measureRound = (atOnce: number) =>
      Effect.gen(function* () {
        yield* restoreUnits(hosted)
        // The limits of received messages count those of the last minute.
        yield* hosted.database.execute("update inbound_messages set received_at = received_at - interval '1 hour'")
        const each = Math.max(1, Math.ceil(channelMessages / atOnce))
        const times = yield* Effect.all(
          Array.makeBy(atOnce, () => converse(each)),
          { concurrency: "unbounded" }
        )
        return summarizeLatencies(times.flat())
      })

    yield* measureRound(10)
    const results = yield* Effect.forEach(chatsAtOnce, (atOnce) =>
      Effect.map(Effect.replicateEffect(measureRound(atOnce), rounds), (measured) => ({
        atOnce,
        rounds: measured,
        ...medianLatencies(measured)
      }))
    )
    return {
      figures: { unit: "ms", results },
      tables: [
        {
          title: "Reply to a message of a channel (ms)",
          columns: ["chats at once", "p50", "p95", "p99", "max"],
          rows: results.map(({ atOnce, max, p50, p95, p99 }) => [
            String(atOnce),
            ...[p50, p95, p99, max].map(formatFigure)
          ]),
          note: "From the webhook request of platformB to the arrival of the reply at the platform, over an instant model."
        }
      ],
      panels: [
        {
          title: "Reply to a message of a channel, p50",
          unit: "ms",
          bars: results.map(({ atOnce, p50 }) => ({ label: `${atOnce} at once`, value: p50 }))
        }
      ]
    }
  })
