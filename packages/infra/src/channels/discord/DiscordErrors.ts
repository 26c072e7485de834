import { Data, type Duration, type Option } from "effect"
import type { PlatformAnswerMalformed, PlatformConnectionFailed } from "../PlatformHttp.ts"

/** Discord rejected a request. Excludes Discord's text. */
export class DiscordRequestRejected extends Data.TaggedError("DiscordRequestRejected")<{
  readonly status: number
  /** JSON error code; zero if absent. */
  readonly code: number
  /** Delay of a rate limit. */
  readonly retryAfter: Option.Option<Duration.Duration>
}> {}

export type DiscordFailure = PlatformConnectionFailed | DiscordRequestRejected | PlatformAnswerMalformed

type DiscordRejection =
  "token-rejected" | "interaction-expired" | "recipient-unreachable" | "rate-limited" | "unavailable" | "invalid"

/** Unknown interaction, unknown webhook, invalid webhook token. */
const interactionCodes = new Set([10_015, 10_062, 50_027])

/** https://docs.discord.com/developers/topics/opcodes-and-status-codes */
export const classifyDiscordRejection = ({
  code,
  status
}: Pick<DiscordRequestRejected, "code" | "status">): DiscordRejection => {
  if (interactionCodes.has(code)) return "interaction-expired"
  if (status === 401) return "token-rejected"
  if (status === 429) return "rate-limited"
  if (status >= 500) return "unavailable"
  return status === 403 || status === 404 ? "recipient-unreachable" : "invalid"
}

const sentences: Record<DiscordRejection, string> = {
  "token-rejected": "Discord rejects the bot token; reset it in the developer portal and set platformCBotToken.",
  "interaction-expired": "The slash command expired: Discord accepts its answer for 15 minutes.",
  "recipient-unreachable":
    "Discord does not let the bot write there: the channel is gone, a permission is missing, or the user blocks direct messages.",
  "rate-limited": "Discord limits the rate of this bot.",
  unavailable: "Discord is unavailable.",
  invalid: "Discord refuses the request."
}

export const describeDiscordRejection = (rejection: DiscordRequestRejected): string =>
  `${sentences[classifyDiscordRejection(rejection)]} (code ${rejection.code}, status ${rejection.status})`
