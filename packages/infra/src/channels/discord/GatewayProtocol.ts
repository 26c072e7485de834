import { Data, Option, Redacted, Schema } from "effect"
import { optionalNullable } from "../../ai/vendor/VendorBodies.ts"
import { isSecureAddress } from "../PlatformHttp.ts"

/* Pure functions of the Discord Gateway v10. https://docs.discord.com/developers/events/gateway */

export const opcodes = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  reconnect: 7,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11
} as const

/** Direct messages, and messages of servers with the content of those that mention the bot. */
const basicIntents = (1 << 9) | (1 << 12)
/** Privileged: the content of all messages. */
const messageContentIntent = 1 << 15
/** Application flags for the privileged intent: GATEWAY_MESSAGE_CONTENT and its limited form. */
const messageContentFlags = (1 << 18) | (1 << 19)

/** Requests the content of all messages only if the application may; otherwise Discord would close the connection. */
export const selectIntents = (applicationFlags: number): number =>
  (applicationFlags & messageContentFlags) === 0 ? basicIntents : basicIntents | messageContentIntent

export const GatewayFrame = Schema.Struct({
  op: Schema.Number,
  d: Schema.optional(Schema.Unknown),
  s: optionalNullable(Schema.Number),
  t: optionalNullable(Schema.String)
})
export type GatewayFrame = typeof GatewayFrame.Type

export const Hello = Schema.Struct({ heartbeat_interval: Schema.Number.pipe(Schema.positive()) })
export const Ready = Schema.Struct({ session_id: Schema.String, resume_gateway_url: Schema.String })

/** State to resume a session on another connection. */
export const GatewaySession = Schema.Struct({
  sessionId: Schema.String,
  resumeUrl: Schema.String,
  /** The last handled event. */
  sequence: Schema.Number
})
export type GatewaySession = typeof GatewaySession.Type

/** Adds version and encoding to the address; none if a token must not be sent there. */
export const makeGatewayAddress = (url: string): Option.Option<URL> => {
  if (!URL.canParse(url)) return Option.none()
  const address = new URL(url)
  if (!/^wss?:$/.test(address.protocol) || !isSecureAddress(address)) return Option.none()
  address.search = "?v=10&encoding=json"
  return Option.some(address)
}

export const makeHeartbeat = (sequence: number | null) => ({ op: opcodes.heartbeat, d: sequence })

export const makeIdentify = (token: Redacted.Redacted, intents: number) => ({
  op: opcodes.identify,
  d: {
    token: Redacted.value(token),
    intents,
    properties: { os: "linux", browser: "berth", device: "berth" }
  }
})

export const makeResume = (token: Redacted.Redacted, { sequence, sessionId }: GatewaySession) => ({
  op: opcodes.resume,
  d: { token: Redacted.value(token), session_id: sessionId, seq: sequence }
})

/** Step after the end of a connection. */
export type GatewayEnd = Data.TaggedEnum<{
  /** Reconnect and resume the session. */
  Resume: {}
  /** Reconnect with a new session. */
  Identify: {}
  /** Discord rejects further connections until the bot's owner acts. */
  Refused: { readonly reason: string }
}>
export const GatewayEnd = Data.taggedEnum<GatewayEnd>()

const refusals: ReadonlyMap<number, string> = new Map([
  [4004, "Discord rejects the bot token; reset it in the developer portal and set platformCBotToken."],
  [4010, "Discord refuses the connection's shard; update Berth."],
  [4011, "The bot is in too many servers for one connection; remove it from some of them."],
  [4012, "Discord no longer serves this gateway version; update Berth."],
  [4013, "Discord refuses the gateway intents; update Berth."],
  [
    4014,
    "Discord refuses the message content intent; enable it on the bot's page of the developer portal, then connect again."
  ]
])

/** Like normal closures, an invalid sequence and a session timeout end the session. */
const sessionEnds = new Set([1000, 1001, 4007, 4009])

export const decideAfterClose = (code: number): GatewayEnd => {
  const reason = refusals.get(code)
  if (reason !== undefined) return GatewayEnd.Refused({ reason })
  return sessionEnds.has(code) ? GatewayEnd.Identify() : GatewayEnd.Resume()
}
