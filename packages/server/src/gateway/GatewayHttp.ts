import { GatewayApi, gatewayRoute } from "@berth/api/gateway/GatewayApi"
import { CrossOrigin } from "@berth/api/http/CrossOrigin"
import { WebApi } from "@berth/api/WebApi"
import type { User } from "@berth/domain/shared/User"
import type { ChatOpening } from "@berth/domain/ai/calls/ChatRequest"
import { CardCalls } from "@berth/domain/gateway/calls/CardCalls"
import { MachineCalls } from "@berth/domain/gateway/calls/MachineCalls"
import { choosePaymentMethod } from "@berth/domain/gateway/calls/PaymentMethod"
import { formatReceiptHeader } from "@berth/domain/gateway/payments/PaymentReceipt"
import { PluginPrices } from "@berth/domain/gateway/calls/PluginPrices"
import { PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { Plugins } from "@berth/domain/gateway/Plugins"
import { IdempotentExecution } from "@berth/domain/limits/IdempotentExecution"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { normalizeClientAddress } from "@berth/domain/limits/ClientAddress"
import { Digests, hashSecret } from "@berth/domain/secrets/Digests"
import { Caller } from "@berth/domain/sessions/Caller"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { HttpApiBuilder, type HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { Context, Effect, Either, ExecutionStrategy, Exit, Option, Redacted, Ref, Scope } from "effect"
import { makePreflightResponse } from "../http/CrossOriginHeaders.ts"
import { type AnswerWithStore, IdempotencyMiddleware } from "../http/IdempotencyMiddleware.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { RequestSession } from "../sessions/RequestSession.ts"
import { readContent } from "./CallContent.ts"
import { toGatewayErrorResponse, paymentInProgressResponse } from "./GatewayErrorResponses.ts"
import { makeCardCheckout, respondUnitsExhausted, respondUnpaid } from "./PaymentRequiredResponse.ts"
import { type GatewayCall, readPluginId, readCall } from "./GatewayCall.ts"
import { toStreamedResponse, respondStreamed, respondWhole, type GatewayStreamInput } from "./GatewayResponse.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

const isStream = ({ body }: Response) => body._tag === "Stream"

/** What a call holds ends with it: with the stream that answers it, else before the answer goes out. */
const withinCall = <E, R>(app: Effect.Effect<Response, E, R>) =>
  Effect.flatMap(Effect.scope, (ofRequest) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Scope.fork(ofRequest, ExecutionStrategy.sequential), (scope) =>
        restore(Scope.extend(app, scope)).pipe(
          Effect.onExit((exit) =>
            Exit.isSuccess(exit) && isStream(exit.value) ? Effect.void : Scope.close(scope, exit)
          )
        )
      )
    )
  )

const crossOrigin = Context.get(GatewayApi.annotations, CrossOrigin)

/** The gateway: who calls, how he pays, what he asks for, and the answer. */
export const layer = HttpApiBuilder.group(WebApi, "gateway", (handlers) =>
  Effect.gen(function* () {
    const { appUrl } = yield* WebSettings
    const session = yield* RequestSession
    const limiter = yield* RateLimiter
    const idempotency = yield* IdempotencyMiddleware
    const oncePerKey = yield* IdempotentExecution
    const digests = yield* Digests
    const prices = yield* PluginPrices
    const plugins = yield* Plugins
    const cards = yield* CardCalls
    const machines = yield* MachineCalls

    const digest = (text: string) => hashSecret(digests, Redacted.make(text))
    const checkoutOf = ({ input, plugin }: GatewayCall) => makeCardCheckout(appUrl, input, prices[plugin])
    const paidRequestOf = ({ body, input }: GatewayCall) => machines.paidRequest(input, { route: gatewayRoute, body })

    const tell = <E>({ streamed }: GatewayCall, toStream: GatewayStreamInput<E>) =>
      streamed ? respondStreamed(toStream) : respondWhole(toStream)

    /** The answer of a repetition is the first one, in whatever form is wanted now. */
    const asWanted = ({ streamed }: GatewayCall, response: Response) =>
      streamed ? toStreamedResponse(response) : response

    /** Under the request's `Idempotency-Key`, where it has one. */
    const answered = <E, R>(request: Request, call: GatewayCall, principal: string, app: AnswerWithStore<E, R>) => {
      const key = request.headers["idempotency-key"]
      return key === undefined
        ? app(() => Effect.void)
        : idempotency.once({ principal, route: gatewayRoute, key }, digest(call.fingerprint()), app)
    }

    const byCard = (user: User, request: Request, call: GatewayCall) =>
      answered(request, call, user.id, (keep) =>
        Effect.gen(function* () {
          const opening = yield* Ref.make(Option.none<ChatOpening>())
          const run = yield* cards.start({
            user,
            input: call.input,
            streamed: call.streamed,
            // Of a repetition after a crash the same: what was reserved before is this call's.
            cause: `gateway:${yield* oncePerKey.reference}`,
            opened: (known) => Ref.set(opening, Option.some(known))
          })
          const payment = { method: "card", receipt: null } as const
          return yield* tell(call, {
            plugin: call.plugin,
            payment,
            run,
            opening,
            headers: {},
            store: keep,
            confirmEnd: Effect.succeed(true)
          })
        })
      ).pipe(
        Effect.map((response) => asWanted(call, response)),
        Effect.catchTag("UnitsExhausted", () =>
          // Whoever says that he pays by card would be refused with a payment of a machine in his hand.
          request.headers["x-payment-method"] === undefined
            ? Effect.map(machines.challenge(paidRequestOf(call)), (challenge) =>
                respondUnitsExhausted(checkoutOf(call), challenge)
              )
            : Effect.succeed(respondUnitsExhausted(checkoutOf(call), undefined))
        )
      )

    const byMachine = (caller: Option.Option<User>, request: Request, call: GatewayCall) =>
      Effect.gen(function* () {
        const authorization = request.headers["authorization"]
        const paidRequest = paidRequestOf(call)
        const redeemed = yield* machines.redeem(authorization === undefined ? [] : [authorization], paidRequest)
        // Whoever shows the same credential again is who has paid.
        const principal = `credential:${digest(authorization ?? "")}`
        switch (redeemed._tag) {
          case "InProgress":
            return paymentInProgressResponse
          case "Unpaid": {
            const key = request.headers["idempotency-key"]
            const earlier =
              key !== undefined && redeemed.failure === "challenge is used"
                ? yield* idempotency.earlier({ principal, route: gatewayRoute, key }, digest(call.fingerprint()))
                : Option.none()
            return Option.match(earlier, {
              onNone: () => respondUnpaid(checkoutOf(call), redeemed),
              onSome: (response) => asWanted(call, response)
            })
          }
          case "Paid": {
            const { claim, receipt } = redeemed
            const held = yield* machines.claimPayment(claim)
            const response = yield* answered(request, call, principal, (keep) =>
              Effect.gen(function* () {
                const opening = yield* Ref.make(Option.none<ChatOpening>())
                const opened = (known: ChatOpening) => Ref.set(opening, Option.some(known))
                return yield* tell(call, {
                  plugin: call.plugin,
                  payment: { method: "mpp", receipt: receipt.reference },
                  run: plugins.run(call.input, caller, { opened }),
                  opening,
                  headers: { "payment-receipt": formatReceiptHeader(receipt), "cache-control": "private" },
                  store: keep,
                  confirmEnd: held.complete
                })
              })
            )
            // A stream says itself when it has come to its end. What is no success leaves the payment good.
            if (isStream(response) || response.status >= 300) return response
            return (yield* held.complete) ? asWanted(call, response) : paymentInProgressResponse
          }
        }
      })

    const answer = (request: Request) =>
      Effect.gen(function* () {
        const user = Option.map(yield* session.find, (found) => found.user)
        const { address } = yield* Caller
        yield* limiter.take(
          "gateway",
          Option.match(user, {
            onNone: () => normalizeClientAddress(Option.getOrElse(address, () => "unknown")),
            onSome: ({ id }) => id
          })
        )
        const method = yield* Either.mapLeft(
          choosePaymentMethod({
            asked: request.headers["x-payment-method"],
            authorization: request.headers["authorization"]
          }),
          ({ message }) => new PluginInputInvalid({ field: "x-payment-method", reason: message })
        )
        const content = yield* readContent(request)
        const asked = readPluginId(request, content)
        if (Either.isLeft(asked) && asked.left._tag === "PluginNotFound") return yield* asked.left
        if (method === "card" && Option.isNone(user)) return yield* new AuthenticationRequired()
        const plugin = yield* asked
        yield* Effect.annotateCurrentSpan({ "gateway.plugin": plugin, "gateway.payment": method })
        const call = yield* readCall(request, plugin, yield* content)
        return yield* withinCall(
          method === "card" && Option.isSome(user) ? byCard(user.value, request, call) : byMachine(user, request, call)
        )
      }).pipe(Effect.catchAll((failure) => Effect.succeed(toGatewayErrorResponse(failure))))

    return handlers
      .handleRaw("call", ({ request }) => answer(request))
      .handle("preflight", () => Effect.succeed(makePreflightResponse({ crossOrigin })))
  })
)
