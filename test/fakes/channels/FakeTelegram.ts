import { Effect, type Scope } from "effect"
import { type CommonFault, type FakeReply, makeFakePlatform, type PlatformRequest } from "./FakePlatform.ts"
import { isRecord } from "./JsonFields.ts"
import { checkTelegramHtml } from "./TelegramHtmlCheck.ts"

interface SentMessage {
  readonly chatId: string
  readonly text: string
  readonly isHtml: boolean
  readonly replyTo: number | undefined
  readonly threadId: number | undefined
}

type Fault =
  | { readonly kind: "status"; readonly status: number; readonly description: string; readonly retryAfter?: number }
  | { readonly kind: "accept-and-cut" }

export interface FakeTelegram {
  readonly url: URL
  readonly token: string
  readonly bot: { readonly id: number; readonly username: string }
  readonly sent: () => ReadonlyArray<SentMessage>
  /** Calls of a method so far, with their parameters. */
  readonly calls: (method: string) => ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly webhook: () => { readonly url: string; readonly secret: string } | undefined
  /** Appends an update; returns its id. */
  readonly addUpdate: (update: Readonly<Record<string, unknown>>) => number
  readonly updatesLeft: () => number
  /** Sets the faults of a method's next calls, in order. */
  readonly failNext: (method: string, ...faults: ReadonlyArray<Fault>) => void
  /** Revokes the token, as its owner does with BotFather, or restores it. */
  readonly setRevoked: (revoked: boolean) => void
  readonly requests: ReadonlyArray<PlatformRequest>
  readonly trouble: (
    fault: "fails" | "limits" | "limits without a time" | CommonFault,
    times?: number,
    path?: RegExp
  ) => void
  readonly endTrouble: () => void
  /** Adds a file for `getFile`. */
  readonly addFile: (id: string, bytes: Uint8Array) => void
}

const maximumText = 4096
const secretPattern = /^[A-Za-z0-9_-]{1,256}$/

interface Answer {
  readonly status: number
  readonly body: unknown
}
interface State {
  isRevoked: boolean
  webhook: { readonly url: string; readonly secret: string } | undefined
  updates: ReadonlyArray<Readonly<Record<string, unknown>> & { readonly update_id: number }>
  nextUpdate: number
  nextMessage: number
  /** Ends the pending long poll. */
  endPoll: ((answer: Answer) => void) | undefined
  readonly wake: Set<() => void>
}
const ok = (result: unknown): Answer => ({ status: 200, body: { ok: true, result } })
const refuse = (status: number, description: string, parameters?: Readonly<Record<string, unknown>>): Answer => ({
  status,
  body: { ok: false, error_code: status, description, ...(parameters === undefined ? {} : { parameters }) }
})

/** The Telegram Bot API over HTTP for one bot, with Telegram's validation. */
export const makeFakeTelegram: Effect.Effect<FakeTelegram, never, Scope.Scope> = Effect.gen(function* () {
  const bot = { id: 7_000_001, username: "berth_bot" }
  const token = `${bot.id}:AAtestTESTtest_token-0123456789abcdefg`
  const sent: Array<SentMessage> = []
  const calls: Array<{ readonly method: string; readonly parameters: Readonly<Record<string, unknown>> }> = []
  const faults = new Map<string, Array<Fault>>()
  const files = new Map<string, Uint8Array>()
  const state: State = {
    isRevoked: false,
    webhook: undefined,
    updates: [],
    nextUpdate: 500_000,
    nextMessage: 10_000,
    endPoll: undefined,
    wake: new Set()
  }

  const sendMessage = (parameters: Readonly<Record<string, unknown>>): Answer => {
    const { chat_id: chatId, message_thread_id, parse_mode, reply_parameters, text } = parameters
    if (typeof chatId !== "string" || chatId === "") return refuse(400, "Bad Request: chat not found")
    if (chatId === "403") return refuse(403, "Forbidden: bot was blocked by the user")
    if (typeof text !== "string" || text.trim() === "") return refuse(400, "Bad Request: message text is empty")
    const isHtml = parse_mode === "HTML"
    const checked = isHtml ? checkTelegramHtml(text) : { visible: text }
    if ("problem" in checked) return refuse(400, `Bad Request: can't parse entities: ${checked.problem}`)
    if (checked.visible.trim() === "") return refuse(400, "Bad Request: message text is empty")
    if (checked.visible.length > maximumText) return refuse(400, "Bad Request: message is too long")
    if (!text.isWellFormed()) return refuse(400, "Bad Request: strings must be encoded in UTF-8")
    const replyTo =
      typeof reply_parameters === "object" && reply_parameters !== null && "message_id" in reply_parameters
        ? Number(reply_parameters.message_id)
        : undefined
    sent.push({
      chatId,
      text: checked.visible,
      isHtml,
      replyTo,
      threadId: message_thread_id === undefined ? undefined : Number(message_thread_id)
    })
    return ok({
      message_id: (state.nextMessage += 1),
      date: Math.floor(Date.now() / 1000),
      chat: { id: Number(chatId) }
    })
  }

  const getUpdates = ({ limit, offset, timeout }: Readonly<Record<string, unknown>>): Promise<Answer> | Answer => {
    if (state.webhook !== undefined)
      return refuse(
        409,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete it first"
      )
    state.endPoll?.(
      refuse(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
    )
    if (typeof offset === "number") state.updates = state.updates.filter(({ update_id }) => update_id >= offset)
    const take = () => state.updates.slice(0, Number(limit ?? 100))
    if (take().length > 0 || Number(timeout ?? 0) === 0) return ok(take())
    return new Promise<Answer>((resolve) => {
      const finish = (answer: Answer) => {
        state.wake.delete(wake)
        if (state.endPoll === finish) state.endPoll = undefined
        resolve(answer)
      }
      const wake = () => finish(ok(take()))
      Effect.runFork(
        Effect.delay(
          Effect.sync(() => finish(ok([]))),
          Number(timeout) * 1000
        )
      )
      state.wake.add(wake)
      state.endPoll = finish
    })
  }

  const answer = (method: string, parameters: Readonly<Record<string, unknown>>): Promise<Answer> | Answer => {
    switch (method) {
      case "getMe":
        return ok({ ...bot, is_bot: true, first_name: "Berth" })
      case "setWebhook": {
        const { secret_token: secret = "", url = "" } = parameters
        if (typeof url !== "string" || !url.startsWith("https://"))
          return refuse(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
        if (typeof secret !== "string" || !secretPattern.test(secret))
          return refuse(400, "Bad Request: secret token contains unallowed characters")
        state.webhook = { url, secret }
        return ok(true)
      }
      case "deleteWebhook":
        state.webhook = undefined
        return ok(true)
      case "getUpdates":
        return getUpdates(parameters)
      case "sendMessage":
        return sendMessage(parameters)
      case "sendChatAction":
        return parameters["action"] === "typing"
          ? ok(true)
          : refuse(400, "Bad Request: wrong parameter action in request")
      case "getFile": {
        const id = String(parameters["file_id"])
        return files.has(id)
          ? ok({ file_id: id, file_unique_id: id, file_path: `files/${id}` })
          : refuse(400, "Bad Request: invalid file_id")
      }
      default:
        return refuse(404, "Not Found: method not found")
    }
  }

  const { endTrouble, origin, requests, trouble } = yield* makeFakePlatform({
    answer: async ({ body, path }): Promise<FakeReply> => {
      const [, file] = /^\/file\/bot[^/]+\/files\/(.+)$/.exec(path) ?? []
      if (file !== undefined) {
        const bytes = files.get(file)
        return bytes === undefined ? { status: 404 } : { status: 200, bytes }
      }
      const [, shown = "", method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? []
      if (decodeURIComponent(shown) !== token || state.isRevoked) return refuse(401, "Unauthorized")
      const parameters = isRecord(body) ? body : {}
      calls.push({ method, parameters })
      const fault = faults.get(method)?.shift()
      if (fault === undefined) return answer(method, parameters)
      if (fault.kind === "accept-and-cut") {
        await answer(method, parameters)
        return "is cut"
      }
      return refuse(
        fault.status,
        fault.description,
        fault.retryAfter === undefined ? undefined : { retry_after: fault.retryAfter }
      )
    },
    faults: {
      fails: refuse(502, "Bad Gateway"),
      limits: refuse(429, "Too Many Requests", { retry_after: 60 }),
      "limits without a time": refuse(429, "Too Many Requests")
    }
  })

  return {
    url: new URL(origin),
    token,
    bot,
    sent: () => [...sent],
    calls: (method) => calls.filter((call) => call.method === method).map(({ parameters }) => parameters),
    webhook: () => state.webhook,
    addUpdate: (update) => {
      state.nextUpdate += 1
      state.updates = [...state.updates, { update_id: state.nextUpdate, ...update }]
      for (const wake of state.wake) wake()
      return state.nextUpdate
    },
    updatesLeft: () => state.updates.length,
    failNext: (method, ...more) => void faults.set(method, [...(faults.get(method) ?? []), ...more]),
    setRevoked: (revoked) => {
      state.isRevoked = revoked
    },
    requests,
    trouble,
    endTrouble,
    addFile: (id, bytes) => void files.set(id, bytes)
  }
})
