import { Effect, type Scope } from "effect"
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { type WebSocket, WebSocketServer } from "ws"
import { makeFakePlatform, type PlatformRequest } from "./FakePlatform.ts"
import { FakeRefusal, isRecord, readField, readText } from "./JsonFields.ts"

interface PostedMessage {
  readonly id: string
  readonly channelId: string
  readonly content: string
  readonly replyTo: string | null
}

export interface FakeBot {
  readonly token: string
  readonly userId: string
  readonly applicationId: string
}

interface Session {
  readonly id: string
  readonly bot: FakeBot
  readonly intents: number
  readonly events: Array<{ readonly op: 0; readonly t: string; readonly s: number; readonly d: unknown }>
  isAlive: boolean
  socket: WebSocket | null
}

interface MessageInput {
  readonly channelId: string
  readonly content: string
  readonly guildId?: string
  readonly mentions?: ReadonlyArray<string>
  readonly attachments?: ReadonlyArray<Readonly<Record<string, unknown>>>
}

interface DiscordState {
  counter: number
  origin: string
  heartbeatMs: number
  acknowledges: boolean
  greets: boolean
  startsRemaining: number
  connections: number
}

export type FakeDiscord = Effect.Effect.Success<typeof makeFakeDiscord>

const version = "v10"
const longestText = 2_000
const maximumPayload = 4_096
const contentIntent = 1 << 15
const knownIntents = (1 << 26) - 1
const privilegedIntents = (1 << 1) | (1 << 8) | contentIntent
const contentFlag = 1 << 19

const refuse = (status: number, code: number, message: string) => new FakeRefusal(status, { message, code })
const limited = (seconds: number, headers: Readonly<Record<string, string>>) => ({
  status: 429,
  body: { message: "You are being rate limited.", retry_after: seconds, global: "x-ratelimit-global" in headers },
  headers
})

/**
 * The Discord API v10 over HTTP and its gateway over WebSocket. It requires bot tokens and Discord's user agent
 * format, rejects empty and long texts, closes connections with Discord's codes, and replays the events of resumed
 * sessions.
 */
export const makeFakeDiscord = Effect.gen(function* () {
  const bots = new Map<string, FakeBot & { key: KeyObject; flags: number; endpoint: string | null }>()
  const revoked = new Set<string>()
  const sessions = new Map<string, Session>()
  const commands = new Map<string, Array<Readonly<Record<string, unknown>>>>()
  const posted: Array<PostedMessage> = []
  const nonces = new Map<string, PostedMessage>()
  /** Answers to slash commands by interaction token: null while deferred. */
  const answers = new Map<string, Array<string> | null>()
  const expired = new Set<string>()
  const blocked = new Set<string>()
  const typing: Array<string> = []
  const received: Array<{ readonly op: number; readonly d: unknown }> = []
  const files = new Map<string, Uint8Array>()
  const state: DiscordState = {
    counter: 0,
    origin: "",
    heartbeatMs: 41_250,
    acknowledges: true,
    greets: true,
    startsRemaining: 1_000,
    connections: 0
  }
  // A snowflake.
  const nextId = () => String(1_100_000_000_000_000_000n + BigInt(++state.counter))

  const authorize = (headers: IncomingHttpHeaders) => {
    const [, token = ""] = /^Bot (.+)$/.exec(headers.authorization ?? "") ?? []
    const bot = bots.get(token)
    if (bot === undefined || revoked.has(token)) throw refuse(401, 0, "401: Unauthorized")
    return bot
  }

  const readContent = (body: unknown): string => {
    const content = readText(body, "content")
    if (content === "") throw refuse(400, 50_006, "Cannot send an empty message")
    if (content.length > longestText) throw refuse(400, 50_035, "Invalid Form Body")
    return content
  }

  const postMessage = (channelId: string, body: unknown) => {
    if (channelId.startsWith("404")) throw refuse(404, 10_003, "Unknown Channel")
    if (blocked.has(channelId)) throw refuse(403, 50_007, "Cannot send messages to this user")
    const content = readContent(body)
    const nonce = readText(body, "nonce")
    if (nonce.length > 25) throw refuse(400, 50_035, "Invalid Form Body")
    const known = readField(body, "enforce_nonce") === true ? nonces.get(`${channelId} ${nonce}`) : undefined
    if (known !== undefined) return { id: known.id, channel_id: channelId, content: known.content }
    const replyTo = readText(readField(body, "message_reference"), "message_id")
    const message = { id: nextId(), channelId, content, replyTo: replyTo === "" ? null : replyTo }
    posted.push(message)
    if (nonce !== "") nonces.set(`${channelId} ${nonce}`, message)
    return { id: message.id, channel_id: channelId, content }
  }

  const findAnswers = (token: string): Array<string> | null => {
    const found = answers.get(token)
    if (found === undefined || expired.has(token)) throw refuse(401, 50_027, "Invalid Webhook Token")
    return found
  }

  const answerApi = ({ body, headers, method }: PlatformRequest, path: string): unknown => {
    if (!/^DiscordBot \(https?:\/\/[^,]+, [\d.]+\)/.test(headers["user-agent"] ?? ""))
      throw refuse(403, 40_333, "internal network error")
    const [first = "", second = "", third = "", ...rest] = path.split("/")
    if (first === "webhooks" && method === "PATCH" && rest.join("/") === "messages/@original") {
      findAnswers(third)
      answers.set(third, [readContent(body)])
      return { id: nextId() }
    }
    if (first === "webhooks" && method === "POST" && rest.length === 0) {
      const before = findAnswers(third)
      if (before === null) throw refuse(400, 40_060, "Interaction has not been answered")
      before.push(readContent(body))
      return { id: nextId() }
    }
    if (first === "interactions" && method === "POST" && rest.join("/") === "callback") {
      if (readField(body, "type") !== 5) throw refuse(400, 50_035, "Invalid Form Body")
      if (answers.has(third)) throw refuse(400, 40_060, "Interaction has already been acknowledged.")
      answers.set(third, null)
      return undefined
    }
    const bot = authorize(headers)
    switch (`${method} ${path}`) {
      case "GET users/@me":
        return { id: bot.userId, username: "berth-bot", global_name: null, bot: true, discriminator: "0" }
      case "GET applications/@me":
        return {
          id: bot.applicationId,
          name: "Berth",
          verify_key: createPublicKey(bot.key).export({ format: "der", type: "spki" }).subarray(12).toString("hex"),
          flags: bot.flags,
          interactions_endpoint_url: bot.endpoint
        }
      case "GET gateway/bot":
        return {
          url: state.origin.replace(/^http/, "ws"),
          shards: 1,
          session_start_limit: {
            total: 1_000,
            remaining: state.startsRemaining,
            reset_after: 14_400_000,
            max_concurrency: 1
          }
        }
      case `GET applications/${bot.applicationId}/commands`:
        return commands.get(bot.applicationId) ?? []
      case `POST applications/${bot.applicationId}/commands`: {
        const name = readText(body, "name")
        if (!/^[-_a-z0-9]{1,32}$/.test(name) || readText(body, "description") === "")
          throw refuse(400, 50_035, "Invalid Form Body")
        const others = (commands.get(bot.applicationId) ?? []).filter((command) => command.name !== name)
        const created = { id: nextId(), ...(isRecord(body) ? body : {}) }
        commands.set(bot.applicationId, [...others, created])
        return created
      }
      default:
        if (first === "channels" && third === "messages" && method === "POST") return postMessage(second, body)
        if (first === "channels" && third === "typing" && method === "POST") {
          typing.push(second)
          return undefined
        }
        throw refuse(404, 0, "404: Not Found")
    }
  }

  const { endTrouble, origin, requests, server, trouble } = yield* makeFakePlatform({
    answer: (request) => {
      const file = files.get(request.path)
      if (file !== undefined) return { status: 200, bytes: file }
      if (!request.path.startsWith(`/api/${version}/`)) throw refuse(404, 0, "404: Not Found")
      const body = answerApi(request, request.path.slice(`/api/${version}/`.length))
      return body === undefined
        ? { status: 204 }
        : { status: 200, body, headers: { "x-ratelimit-remaining": "4", "x-ratelimit-reset-after": "1.000" } }
    },
    faults: {
      fails: { status: 500, body: { message: "500: Internal Server Error", code: 0 } },
      "limits briefly": limited(0.05, { "retry-after": "1", "x-ratelimit-scope": "user" }),
      "limits globally": limited(60, {
        "retry-after": "60",
        "x-ratelimit-global": "true",
        "x-ratelimit-scope": "global"
      }),
      limits: limited(60, { "retry-after": "60", "x-ratelimit-scope": "shared" }),
      "limits without a time": { status: 429 }
    }
  })
  const gateway = new WebSocketServer({ server, maxPayload: maximumPayload * 4 })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const socket of gateway.clients) socket.terminate()
      gateway.close()
    })
  )
  state.origin = origin
  const gatewayUrl = origin.replace(/^http/, "ws")

  const publish = (session: Session, t: string, d: unknown) => {
    const event = { op: 0 as const, t, s: session.events.length + 1, d }
    session.events.push(event)
    session.socket?.send(JSON.stringify(event))
  }

  const identify = (socket: WebSocket, d: unknown): Session | null => {
    const bot = bots.get(readText(d, "token"))
    const intents = readField(d, "intents")
    if (bot === undefined || revoked.has(bot.token)) socket.close(4004, "Authentication failed.")
    else if (typeof intents !== "number" || (intents & ~knownIntents) !== 0) socket.close(4013, "Invalid intent(s).")
    else if ((intents & privilegedIntents) !== 0 && (bot.flags & contentFlag) === 0)
      socket.close(4014, "Disallowed intent(s).")
    else if (!isRecord(readField(d, "properties"))) socket.close(4002, "Error while decoding payload.")
    else {
      state.startsRemaining -= 1
      const session: Session = { id: randomBytes(16).toString("hex"), bot, intents, events: [], isAlive: true, socket }
      sessions.set(session.id, session)
      publish(session, "READY", {
        v: 10,
        user: { id: bot.userId, username: "berth-bot", bot: true },
        guilds: [],
        session_id: session.id,
        resume_gateway_url: gatewayUrl,
        application: { id: bot.applicationId, flags: bot.flags }
      })
      return session
    }
    return null
  }

  const resume = (socket: WebSocket, d: unknown): Session | null => {
    const session = sessions.get(readText(d, "session_id"))
    const after = readField(d, "seq")
    const token = readText(d, "token")
    if (!bots.has(token) || revoked.has(token)) {
      socket.close(4004, "Authentication failed.")
      return null
    }
    if (session === undefined || !session.isAlive || session.bot.token !== token) {
      socket.send(JSON.stringify({ op: 9, d: false, s: null, t: null }))
      return null
    }
    if (typeof after !== "number" || after > session.events.length) {
      socket.close(4007, "Invalid seq.")
      return null
    }
    session.socket?.terminate()
    session.socket = socket
    for (const event of session.events.slice(after)) socket.send(JSON.stringify(event))
    publish(session, "RESUMED", {})
    return session
  }

  gateway.on("connection", (socket, request) => {
    state.connections += 1
    const { searchParams } = new URL(request.url ?? "/", gatewayUrl)
    if (searchParams.get("v") !== "10" || searchParams.get("encoding") !== "json") {
      socket.close(4012, "Invalid API version.")
      return
    }
    const own: { session: Session | null } = { session: null }
    socket.on("error", () => undefined)
    socket.on("close", (code) => {
      if (own.session?.socket !== socket) return
      own.session.socket = null
      // A normal closure by the client ends the session.
      if (code === 1000 || code === 1001) own.session.isAlive = false
    })
    socket.on("message", (data: Buffer) => {
      if (data.length > maximumPayload) return socket.close(4002, "Error while decoding payload.")
      const frame: unknown = JSON.parse(data.toString("utf8"))
      const op = readField(frame, "op")
      const d = readField(frame, "d")
      received.push({ op: typeof op === "number" ? op : -1, d })
      if (op === 1) {
        if (state.acknowledges) socket.send(JSON.stringify({ op: 11, d: null, s: null, t: null }))
      } else if (op === 2)
        if (own.session === null) own.session = identify(socket, d)
        else socket.close(4005, "Already authenticated.")
      else if (op === 6) own.session = resume(socket, d)
      else if (own.session === null) socket.close(4003, "Not authenticated.")
      else socket.close(4001, "Unknown opcode.")
    })
    if (state.greets)
      socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: state.heartbeatMs }, s: null, t: null }))
  })

  const liveSessions = (bot: FakeBot) =>
    [...sessions.values()].filter((session) => session.bot.token === bot.token && session.isAlive)

  const makeMessage = (bot: FakeBot, intents: number, input: MessageInput) => {
    const mentions = input.mentions ?? []
    // Without the privileged intent, only messages to the bot have content.
    const isReadable = input.guildId === undefined || mentions.includes(bot.userId) || (intents & contentIntent) !== 0
    return {
      id: nextId(),
      channel_id: input.channelId,
      ...(input.guildId === undefined ? {} : { guild_id: input.guildId }),
      type: 0,
      author: { id: "200000000000000001", username: "ada", global_name: "Ada", bot: false },
      content: isReadable ? input.content : "",
      timestamp: "2026-03-01T12:00:00.000000+00:00",
      edited_timestamp: null,
      tts: false,
      mention_everyone: false,
      mentions: mentions.map((id) => ({ id, username: id === bot.userId ? "berth-bot" : "other" })),
      mention_roles: [],
      attachments: isReadable ? (input.attachments ?? []) : [],
      embeds: [],
      pinned: false
    }
  }

  const makeInteraction = (bot: FakeBot, question: string, more: Readonly<Record<string, unknown>> = {}) => ({
    id: nextId(),
    application_id: bot.applicationId,
    type: 2,
    token: `aW50ZXJhY3Rpb24${randomBytes(20).toString("hex")}`,
    version: 1,
    channel_id: "300000000000000001",
    user: { id: "200000000000000001", username: "ada", global_name: "Ada" },
    data: { id: "1", name: "ask", type: 1, options: [{ name: "question", type: 3, value: question }] },
    ...more
  })

  const signRequest = (bot: FakeBot, body: string, timestamp: string) => {
    const key = bots.get(bot.token)?.key
    return key === undefined ? "" : sign(null, Buffer.from(timestamp + body), key).toString("hex")
  }

  return {
    apiUrl: new URL(`${origin}/api/${version}`),
    origin,
    addBot: ({ hasMessageContent = false } = {}): FakeBot => {
      const { privateKey } = generateKeyPairSync("ed25519")
      const bot = {
        token: `MTE${randomBytes(12).toString("base64url")}.G${randomBytes(4).toString("base64url")}.${randomBytes(24).toString("base64url")}`,
        userId: nextId(),
        applicationId: nextId(),
        key: createPrivateKey(privateKey.export({ format: "pem", type: "pkcs8" })),
        flags: hasMessageContent ? contentFlag : 0,
        endpoint: null
      }
      bots.set(bot.token, bot)
      return bot
    },
    /** Revokes the token and closes its connections. */
    revokeToken: (bot: FakeBot) => {
      revoked.add(bot.token)
      for (const session of liveSessions(bot)) session.socket?.close(4004, "Authentication failed.")
    },
    removeMessageContent: (bot: FakeBot) => {
      const found = bots.get(bot.token)
      if (found !== undefined) found.flags = 0
    },
    addFile: (path: string, bytes: Uint8Array): string => {
      files.set(path, bytes)
      return origin + path
    },
    commands,
    posted,
    answers,
    expired,
    blocked,
    typing,
    requests,
    /** Frames received from clients. */
    received,
    state,
    /** Sends an event to every session of the bot, connected or not. */
    publish: (bot: FakeBot, t: string, d: unknown) => {
      for (const session of liveSessions(bot)) publish(session, t, d)
    },
    sendMessage: (bot: FakeBot, input: MessageInput) => {
      for (const session of liveSessions(bot))
        publish(session, "MESSAGE_CREATE", makeMessage(bot, session.intents, input))
    },
    isConnected: (bot: FakeBot) => liveSessions(bot).some(({ socket }) => socket !== null),
    countConnections: () => state.connections,
    /** Disconnects without a close frame. */
    cut: (bot: FakeBot) => {
      for (const session of liveSessions(bot)) session.socket?.terminate()
    },
    close: (bot: FakeBot, code: number) => {
      for (const session of liveSessions(bot)) session.socket?.close(code)
    },
    /** Sends a frame other than an event, for example a reconnect request. */
    sendFrame: (bot: FakeBot, op: number, d: unknown) => {
      for (const session of liveSessions(bot)) session.socket?.send(JSON.stringify({ op, d, s: null, t: null }))
    },
    /** Sends raw text as a frame. */
    sendText: (bot: FakeBot, text: string) => {
      for (const session of liveSessions(bot)) session.socket?.send(text)
    },
    forgetSessions: (bot: FakeBot) => {
      for (const session of liveSessions(bot)) session.isAlive = false
    },
    trouble,
    endTrouble,
    makeInteraction,
    signRequest,
    /** Sends an interaction to an endpoint, as Discord does; returns status and body. */
    interact: (
      bot: FakeBot,
      to: URL | string,
      interaction: { readonly token: string },
      timestamp = String(Math.floor(Date.now() / 1000)),
      signedBy = bot
    ): Effect.Effect<{ readonly status: number; readonly body: string }> =>
      Effect.promise(async () => {
        const body = JSON.stringify(interaction)
        const answer = await fetch(to, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "x-signature-ed25519": signRequest(signedBy, body, timestamp),
            "x-signature-timestamp": timestamp
          },
          body
        })
        const text = await answer.text()
        const parsed: unknown = answer.status === 200 ? JSON.parse(text) : null
        if (readField(parsed, "type") === 5 && !answers.has(interaction.token)) answers.set(interaction.token, null)
        return { status: answer.status, body: text }
      })
  }
}) satisfies Effect.Effect<unknown, never, Scope.Scope>
