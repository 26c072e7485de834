import { Effect, type Scope } from "effect"
import { createHmac, randomBytes } from "node:crypto"
import { EventEmitter } from "node:events"
import type { IncomingHttpHeaders } from "node:http"
import { type FakeReply, makeFakePlatform, type PlatformRequest } from "./FakePlatform.ts"
import { FakeRefusal, readField, readText } from "./JsonFields.ts"

export interface SentText {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly text: string
  readonly replyTo: string | null
}

interface Account {
  readonly token: string
  readonly businessAccountId: string
  readonly phoneNumberId: string
  readonly appSecret: string
}

interface FakeMedia {
  readonly bytes: Uint8Array
  readonly mimeType: string
  /** Replaces the fake's own address. */
  readonly url?: string
}

/** A message in the format of notifications. */
type WhatsAppMessageInput = Readonly<Record<string, unknown>> & { readonly id: string; readonly from: string }

export type FakeWhatsApp = Effect.Effect.Success<typeof makeFakeWhatsApp>

const version = "v25.0"
const longestText = 4_096
const windowMs = 24 * 60 * 60 * 1000

const graphError = (status: number, code: number, message: string) => ({
  status,
  body: { error: { message: `(#${code}) ${message}`, type: "OAuthException", code, fbtrace_id: "Afbtrace" } }
})
const refuse = (status: number, code: number, message: string) =>
  new FakeRefusal(status, graphError(status, code, message).body)

/**
 * The WhatsApp Cloud API over HTTP. It requires its version, JSON and a valid token with permissions, rejects texts
 * that are empty, too long or outside of the 24-hour window, and verifies callbacks.
 */
export const makeFakeWhatsApp = Effect.gen(function* () {
  const accounts = new Map<string, Account>()
  const revoked = new Set<string>()
  const unscoped = new Set<string>()
  const ungranular = new Set<string>()
  const lastInbound = new Map<string, number>()
  const media = new Map<string, FakeMedia>()
  const callbacks = new Map<string, { readonly url: string; readonly verifyToken: string }>()
  const subscribed = new Set<string>()
  const sent: Array<SentText> = []
  const events = new EventEmitter<{ sent: [SentText] }>().setMaxListeners(0)
  const read: Array<string> = []
  const state: {
    ahead: number
    counter: number
    origin: string
    callbackOrigin: URL | null
  } = {
    callbackOrigin: null,
    ahead: 0,
    counter: 0,
    origin: ""
  }
  const now = () => Date.now() + state.ahead
  const nextId = () => String(100_000_000_000_000 + ++state.counter)

  const authorize = (headers: IncomingHttpHeaders): Account => {
    const [, token = ""] = /^Bearer (.+)$/.exec(headers.authorization ?? "") ?? []
    const account = accounts.get(token)
    if (account === undefined || revoked.has(token))
      throw refuse(401, 190, "Invalid OAuth access token - Cannot parse access token")
    return account
  }

  const requireScope = ({ token }: Account) => {
    if (unscoped.has(token)) throw refuse(403, 10, "Application does not have permission for this action")
  }

  const inspect = ({ businessAccountId, token }: Account, inputToken: string | null) => {
    if (inputToken !== token) throw refuse(400, 100, "The parameter input_token is required")
    const scopes = unscoped.has(token) ? [] : ["whatsapp_business_management", "whatsapp_business_messaging"]
    return {
      data: {
        app_id: "670843887433847",
        type: "SYSTEM_USER",
        application: "Berth",
        is_valid: true,
        expires_at: 0,
        scopes: [...scopes, "public_profile"],
        granular_scopes: scopes.map((scope) => ({
          scope,
          ...(ungranular.has(token) ? {} : { target_ids: [businessAccountId] })
        })),
        user_id: "10222270944537964"
      }
    }
  }

  const describeNumber = (id: string) => ({
    id,
    display_phone_number: "+1 555-555-0100",
    verified_name: "Jasper's Market",
    quality_rating: "GREEN"
  })

  const sendMessage = (account: Account, body: unknown) => {
    requireScope(account)
    if (readText(body, "messaging_product") !== "whatsapp")
      throw refuse(400, 100, "The parameter messaging_product is required.")
    if (readText(body, "status") === "read") {
      const id = readText(body, "message_id")
      if (!id.startsWith("wamid.")) throw refuse(400, 131009, "Parameter value is not valid")
      read.push(id)
      return { success: true }
    }
    const to = readText(body, "to")
    const text = readText(readField(body, "text"), "body")
    if (readText(body, "type") !== "text" || !/^\d{7,15}$/.test(to) || text === "" || text.length > longestText)
      throw refuse(400, 131009, "Parameter value is not valid")
    const replyTo = readText(readField(body, "context"), "message_id")
    if (readField(body, "context") !== undefined && !replyTo.startsWith("wamid."))
      throw refuse(400, 131009, "Parameter value is not valid")
    if (to.startsWith("999")) throw refuse(400, 131026, "Message undeliverable")
    const lastInboundAt = lastInbound.get(`${account.phoneNumberId} ${to}`)
    if (lastInboundAt === undefined || now() - lastInboundAt > windowMs)
      throw refuse(400, 131047, "Re-engagement message")
    const id = `wamid.${Buffer.from(nextId()).toString("base64")}`
    const message: SentText = { id, from: account.phoneNumberId, to, text, replyTo: replyTo === "" ? null : replyTo }
    sent.push(message)
    events.emit("sent", message)
    return {
      messaging_product: "whatsapp",
      contacts: [{ input: to, wa_id: to }],
      messages: [{ id }]
    }
  }

  const configure = async (account: Account, body: unknown) => {
    const configuration = readField(body, "webhook_configuration")
    if (configuration === undefined) throw refuse(400, 100, "Invalid parameter")
    const url = readText(configuration, "override_callback_uri")
    if (url === "") callbacks.delete(account.phoneNumberId)
    else {
      const verifyToken = readText(configuration, "verify_token")
      if (!subscribed.has(account.businessAccountId) || url.length > 200 || verifyToken === "")
        throw refuse(400, 100, "Invalid parameter")
      if (!(await verifyCallback(url, verifyToken))) throw refuse(400, 2200, "(#2200) Callback verification failed")
      callbacks.set(account.phoneNumberId, { url, verifyToken })
    }
    return { success: true }
  }

  const verifyCallback = async (url: string, verifyToken: string): Promise<boolean> => {
    const challenge = randomBytes(4).readUInt32BE().toString()
    const address = new URL(new URL(url).pathname, state.callbackOrigin ?? url)
    address.search = new URLSearchParams({
      "hub.mode": "subscribe",
      "hub.challenge": challenge,
      "hub.verify_token": verifyToken
    }).toString()
    try {
      const answer = await fetch(address, { redirect: "error" })
      return answer.status === 200 && (await answer.text()) === challenge
    } catch {
      return false
    }
  }

  const answerApi = async (request: PlatformRequest, url: URL): Promise<unknown> => {
    const account = authorize(request.headers)
    const [, ...parts] = url.pathname.slice(1).split("/")
    const key = `${request.method} ${parts.join("/")}`
    if (request.method === "POST" && !(request.headers["content-type"] ?? "").startsWith("application/json"))
      throw refuse(400, 100, "Invalid parameter")
    switch (key) {
      case "GET debug_token":
        return inspect(account, url.searchParams.get("input_token"))
      case `GET ${account.businessAccountId}/phone_numbers`:
        requireScope(account)
        return { data: [describeNumber(account.phoneNumberId)], paging: {} }
      case `GET ${account.phoneNumberId}`:
        requireScope(account)
        return describeNumber(account.phoneNumberId)
      case `POST ${account.businessAccountId}/subscribed_apps`:
        requireScope(account)
        subscribed.add(account.businessAccountId)
        return { success: true }
      case `POST ${account.phoneNumberId}`:
        return configure(account, request.body)
      case `POST ${account.phoneNumberId}/messages`:
        return sendMessage(account, request.body)
      default: {
        const [id = ""] = parts
        const file = request.method === "GET" && parts.length === 1 ? media.get(id) : undefined
        if (file === undefined) throw refuse(400, 100, "Unsupported request. Object does not exist or cannot be loaded")
        return {
          messaging_product: "whatsapp",
          id,
          url: file.url ?? `${state.origin}/whatsapp_business/attachments/?mid=${id}`,
          mime_type: file.mimeType,
          file_size: file.bytes.length
        }
      }
    }
  }

  const answer = async (request: PlatformRequest, url: URL): Promise<FakeReply> => {
    if (url.pathname.startsWith("/whatsapp_business/attachments/")) {
      authorize(request.headers)
      const file = media.get(url.searchParams.get("mid") ?? "")
      return file === undefined
        ? { status: 404 }
        : { status: 200, bytes: file.bytes, headers: { "content-type": file.mimeType } }
    }
    if (!url.pathname.startsWith(`/${version}/`)) throw refuse(400, 2500, "Unknown path components")
    return { status: 200, body: await answerApi(request, url) }
  }

  const { origin, requests, trouble, endTrouble } = yield* makeFakePlatform({
    answer,
    faults: {
      fails: graphError(500, 131000, "An unknown error"),
      limits: graphError(429, 130429, "Rate limit hit"),
      "limits without a time": { status: 429 },
      "limits the account": graphError(400, 80007, "Rate limit issues")
    }
  })
  state.origin = origin

  /** A delivery with these messages to the account's number. */
  const makeNotification = (account: Account, messages: ReadonlyArray<WhatsAppMessageInput>) => ({
    object: "whatsapp_business_account",
    entry: [
      {
        id: account.businessAccountId,
        changes: [
          {
            field: "messages",
            value: {
              messaging_product: "whatsapp",
              metadata: { display_phone_number: "15555550100", phone_number_id: account.phoneNumberId },
              contacts: [...new Set(messages.map(({ from }) => from))].map((wa_id) => ({
                profile: { name: "Kerry Fisher" },
                wa_id
              })),
              messages
            }
          }
        ]
      }
    ]
  })

  const makeText = (
    from: string,
    body: string,
    more: Readonly<Record<string, unknown>> = {}
  ): WhatsAppMessageInput => ({
    from,
    id: `wamid.${Buffer.from(nextId()).toString("base64")}`,
    timestamp: String(Math.floor(now() / 1000)),
    type: "text",
    text: { body },
    ...more
  })

  const sign = (body: string, secret: string) => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`

  return {
    apiUrl: new URL(`${origin}/${version}`),
    addAccount: (): Account => {
      const account = {
        token: `EAAJ${randomBytes(24).toString("hex")}`,
        businessAccountId: nextId(),
        phoneNumberId: nextId(),
        appSecret: randomBytes(16).toString("hex")
      }
      accounts.set(account.token, account)
      return account
    },
    revokeToken: (token: string) => void revoked.add(token),
    removePermissions: (token: string) => void unscoped.add(token),
    /** Removes business accounts from the token's permissions. */
    hideAccounts: (token: string) => void ungranular.add(token),
    addMedia: (id: string, file: FakeMedia) => void media.set(id, file),
    callbacks,
    /** Resolves the public name of callbacks to this origin. */
    resolveCallbacksTo: (origin: URL) => {
      state.callbackOrigin = origin
    },
    subscribed,
    requests,
    sent,
    /** `sent` with every text. */
    events,
    /** Messages marked as read. */
    read,
    trouble,
    endTrouble,
    advanceClock: (milliseconds: number) => {
      state.ahead += milliseconds
    },
    makeText,
    makeNotification,
    sign,
    /** Opens the 24-hour window of a customer, as an inbound message does. */
    openWindow: (account: Account, from: string) => void lastInbound.set(`${account.phoneNumberId} ${from}`, now()),
    /** Delivers messages to a callback; returns the status. */
    deliver: (
      account: Account,
      to: URL | string,
      messages: ReadonlyArray<WhatsAppMessageInput>,
      secret = account.appSecret
    ): Effect.Effect<number> =>
      Effect.promise(async () => {
        for (const { from } of messages) lastInbound.set(`${account.phoneNumberId} ${from}`, now())
        const body = JSON.stringify(makeNotification(account, messages))
        const answer = await fetch(to, {
          method: "POST",
          headers: { "content-type": "application/json", "x-hub-signature-256": sign(body, secret) },
          body
        })
        await answer.arrayBuffer()
        return answer.status
      })
  }
}) satisfies Effect.Effect<unknown, never, Scope.Scope>
