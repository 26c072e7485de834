import type { CardBehavior } from "@berth/infra/stripe/CardProcessorTest"
import { Effect, type Scope } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { setTimeout as work } from "node:timers/promises"
import { listenLocally } from "../../support/LocalServer.ts"
import { type StripeState, makeStripeState } from "./StripeState.ts"
import { findStripeHandler, type StripeRequest } from "./StripeRoutes.ts"
import {
  type StripeCheckoutSession,
  type StripePaymentMethod,
  StripeApiError,
  type StripeEvent
} from "./StripeObjects.ts"
import { sendWebhook } from "./StripeWebhooks.ts"

/** Faults of the processor. "does it and …" faults apply the call and lose its response. */
type StripeFault = "hangs" | "fails" | "is cut" | "limits" | "does it and hangs" | "does it and is cut"

interface WebhookDelivery {
  readonly to: URL
  readonly header?: "stripe-signature" | "cardProcessor-signature"
  /** Epoch seconds of the signature. Default: now. */
  readonly at?: number
  /** Default: the fake's secret. */
  readonly secret?: string
}

export interface FakeStripe {
  /** STRIPE_API_URL */
  readonly url: URL
  /** STRIPE_SECRET_KEY */
  readonly secretKey: string
  /** STRIPE_WEBHOOK_SECRET */
  readonly webhookSecret: string
  /** Its objects, for tests to read and modify. */
  readonly books: StripeState
  /** The received calls. */
  readonly received: ReadonlyArray<StripeRequest>
  /** The events so far, in order. */
  readonly events: ReadonlyArray<StripeEvent>
  /** Fault of the next `times` API calls whose path begins with `path`; null removes it. */
  readonly trouble: (how: StripeFault | null, options?: { readonly path?: string; readonly times?: number }) => void
  /** Sets a customer's default card. */
  readonly saveCard: (customerId: string, behavior?: CardBehavior) => StripePaymentMethod
  readonly sessionAt: (url: string | URL) => StripeCheckoutSession
  /** Pays a checkout. Returns its events, which are not sent automatically. */
  readonly completeCheckout: (
    url: string | URL,
    how?: { readonly card?: CardBehavior; readonly email?: string; readonly paysLater?: boolean }
  ) => ReadonlyArray<StripeEvent>
  readonly renew: (subscriptionId: string, outcome: "paid" | "fails") => ReadonlyArray<StripeEvent>
  /**
   * Sends events sequentially in the given order, which can be late, repeated or shuffled. Returns the statuses, null
   * for no response.
   */
  readonly deliver: (
    events: ReadonlyArray<StripeEvent>,
    delivery: WebhookDelivery
  ) => Effect.Effect<ReadonlyArray<number | null>>
  /** Duration of later calls in milliseconds. A concurrent repetition receives 409. */
  readonly setResponseDelay: (milliseconds: number) => void
  /** Removes all idempotency keys, as the processor does after a day. */
  readonly forgetKeys: () => void
  readonly advanceClock: (seconds: number) => void
  /** Its clock, in epoch seconds. */
  readonly now: () => number
}

interface Kept {
  readonly fingerprint: string
  readonly answer: Answer
  inWork: boolean
}
interface Answer {
  readonly status: number
  readonly body: unknown
}

/**
 * The card processor's API over HTTP. It stores objects, requires its key, honors idempotency keys, validates as the
 * processor does, and has configurable faults. `GET` of a checkout URL returns a page, `POST` pays.
 */
export const makeFakeStripe: Effect.Effect<FakeStripe, never, Scope.Scope> = Effect.gen(function* () {
  const secretKey = `sk_test_${randomBytes(24).toString("base64url")}`
  const webhookSecret = `whsec_${randomBytes(24).toString("base64url")}`
  const received: Array<StripeRequest> = []
  const kept = new Map<string, Kept>()
  const state: {
    origin: string
    ahead: number
    takes: number
    trouble: { how: StripeFault; path: string; times: number } | null
  } = {
    origin: "",
    ahead: 0,
    takes: 0,
    trouble: null
  }
  const now = () => Math.floor(Date.now() / 1000) + state.ahead
  const books = makeStripeState({ origin: () => state.origin, now })

  const answerOf = (call: StripeRequest, query: URLSearchParams): Answer => {
    try {
      return { status: 200, body: findStripeHandler(books, state.origin)(call, query) }
    } catch (error) {
      if (error instanceof StripeApiError) return { status: error.status, body: { error: error.error } }
      throw error
    }
  }

  const keyError = (status: number, message: string, rest: Readonly<Record<string, string>> = {}): Answer => ({
    status,
    body: { error: { type: "idempotency_error", message, ...rest } }
  })

  /** A repeated idempotency key returns the first response. */
  const once = async (call: StripeRequest, query: URLSearchParams): Promise<Answer> => {
    const { takes } = state
    const key = call.headers["idempotency-key"]
    if (call.method !== "POST" || typeof key !== "string") {
      if (takes > 0) await work(takes)
      return answerOf(call, query)
    }
    const fingerprint = createHash("sha256").update(`${call.path}\n${call.body}`).digest("hex")
    const before = kept.get(key)
    if (before === undefined) {
      const entry: Kept = { fingerprint, answer: answerOf(call, query), inWork: takes > 0 }
      kept.set(key, entry)
      if (takes > 0) await work(takes)
      entry.inWork = false
      return entry.answer
    }
    if (before.fingerprint !== fingerprint)
      return keyError(
        400,
        `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`
      )
    return before.inWork
      ? keyError(409, "There is currently another in-progress request using this idempotency key.", {
          code: "idempotency_key_in_use"
        })
      : before.answer
  }

  const troubleOf = (path: string): StripeFault | null => {
    const { trouble } = state
    if (trouble === null || trouble.times < 1 || !path.startsWith(trouble.path)) return null
    trouble.times -= 1
    return trouble.how
  }

  const send = (response: ServerResponse, { body, status }: Answer, headers: Readonly<Record<string, string>> = {}) => {
    response
      .writeHead(status, {
        "content-type": "application/json",
        "request-id": `req_${randomBytes(7).toString("hex")}`,
        ...headers
      })
      .end(JSON.stringify(body))
  }

  const api = async (call: StripeRequest, query: URLSearchParams, response: ServerResponse) => {
    const failure = (status: number, message: string, type = "api_error") =>
      send(response, { status, body: { error: { type, message } } }, { "stripe-should-retry": String(status !== 401) })
    const how = troubleOf(call.path)
    if (how === "hangs") return
    if (how === "is cut") return void response.destroy()
    if (how === "fails") return failure(503, "An error occurred with our connection to Stripe.")
    if (how === "limits") return failure(429, "Too many requests.", "invalid_request_error")
    if (call.headers.authorization !== `Bearer ${secretKey}`)
      return failure(401, "Invalid API Key provided: sk_test_****", "invalid_request_error")
    if (
      call.method === "POST" &&
      call.body !== "" &&
      !String(call.headers["content-type"]).startsWith("application/x-www-form-urlencoded")
    )
      return failure(
        400,
        "Invalid request (check that your POST content type is application/x-www-form-urlencoded).",
        "invalid_request_error"
      )
    const answer = await once(call, query)
    if (how === "does it and hangs") return
    if (how === "does it and is cut") return void response.destroy()
    send(response, answer)
  }

  /** A minimal hosted page. */
  const page = (call: StripeRequest, response: ServerResponse) => {
    const found = books.sessions.get(call.path.slice("/c/pay/".length))?.object
    if (found === undefined || found.status !== "open") return void response.writeHead(404).end("This page is over.")
    if (call.method === "POST") {
      books.complete(found.id)
      const back = found.success_url.replace("{CHECKOUT_SESSION_ID}", found.id)
      return void response.writeHead(303, { location: back }).end()
    }
    response
      .writeHead(200, { "content-type": "text/html; charset=utf-8" })
      .end(
        `<!doctype html><title>Checkout</title><p>${found.amount_total} ${found.currency}</p>` +
          `<form method="post"><button>Pay</button></form><a href="${(found.cancel_url ?? "").replaceAll("&", "&amp;").replaceAll('"', "&quot;")}">Back</a>`
      )
  }

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "/", state.origin)
    const call: StripeRequest = {
      method: request.method ?? "GET",
      path: url.pathname,
      body: await text(request),
      headers: request.headers
    }
    if (url.pathname.startsWith("/c/pay/")) return page(call, response)
    received.push(call)
    await api(call, url.searchParams, response)
  }
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error))
    })
  })
  const origin = yield* listenLocally(server)
  state.origin = origin.origin

  const idAt = (url: string | URL) => new URL(url).pathname.split("/").at(-1) ?? ""
  return {
    url: origin,
    secretKey,
    webhookSecret,
    books,
    received,
    events: books.events,
    trouble: (how, { path = "/", times = Number.POSITIVE_INFINITY } = {}) => {
      state.trouble = how === null ? null : { how, path, times }
    },
    saveCard: (customerId, behavior) => books.saveCard(customerId, behavior, true),
    sessionAt: (url) => books.session(idAt(url)).object,
    completeCheckout: (url, how) => books.complete(idAt(url), how),
    renew: books.renew,
    deliver: (events, { at, header, secret, to }) =>
      Effect.forEach(events, (event) =>
        sendWebhook(event, to, { secret: secret ?? webhookSecret, at: at ?? now() }, header)
      ),
    setResponseDelay: (milliseconds) => {
      state.takes = milliseconds
    },
    forgetKeys: () => kept.clear(),
    advanceClock: (seconds) => {
      state.ahead += seconds
    },
    now
  }
})
