import { GatewayApi, gatewayRoute } from "@berth/api/gateway/GatewayApi"
import { CrossOrigin } from "@berth/api/http/CrossOrigin"
import { WebApi } from "@berth/api/WebApi"
import type { User } from "@berth/domain/accounts/User"
import type { ChatOpening } from "@berth/domain/ai/ChatRequest"
import { CardCalls } from "@berth/domain/gateway/CardCalls"
import { MachineCalls } from "@berth/domain/gateway/MachineCalls"
import { choosePaymentMethod } from "@berth/domain/gateway/PaymentMethod"
import { receiptHeader } from "@berth/domain/gateway/payments/PaymentReceipt"
import { PluginPrices } from "@berth/domain/gateway/PluginPrices"
import { PluginInputIsInvalid } from "@berth/domain/gateway/PluginRun"
import { Plugins } from "@berth/domain/gateway/Plugins"
import { OncePerKey } from "@berth/domain/limits/OncePerKey"
import { addressKey, RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Tokens } from "@berth/domain/secrets/Tokens"
import { Caller } from "@berth/domain/sessions/Caller"
import { NotSignedIn } from "@berth/domain/sessions/SessionErrors"
import { HttpApiBuilder, type HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { Context, Effect, Either, ExecutionStrategy, Exit, Option, Redacted, Ref, Scope } from "effect"
import { preflightAnswer } from "../http/CrossOriginHeaders.ts"
import { type Answering, Idempotency } from "../http/Idempotency.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { RequestSession } from "../sessions/RequestSession.ts"
import { readContent } from "./CallContent.ts"
import { failureResponse, paymentIsInProgress } from "./GatewayFailures.ts"
import { cardCheckout, exhausted, unpaid } from "./PaymentRequired.ts"
import { type GatewayCall, pluginAsked, readCall } from "./ReadCall.ts"
import { asPieces, tellPieces, tellWhole, type ToStream } from "./TellAnswer.ts"

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
    const idempotency = yield* Idempotency
    const oncePerKey = yield* OncePerKey
    const tokens = yield* Tokens
    const prices = yield* PluginPrices
    const plugins = yield* Plugins
    const cards = yield* CardCalls
    const machines = yield* MachineCalls

    const digest = (text: string) => tokens.hash(Redacted.make(text))
    const checkoutOf = ({ input, plugin }: GatewayCall) => cardCheckout(appUrl, input, prices[plugin])
    const paidRequestOf = ({ body, input }: GatewayCall) => machines.paidRequest(input, { route: gatewayRoute, body })

    const tell = <E>({ streamed }: GatewayCall, toStream: ToStream<E>) =>
      streamed ? tellPieces(toStream) : tellWhole(toStream)

    /** The answer of a repetition is the first one, in whatever form is wanted now. */
    const asWanted = ({ streamed }: GatewayCall, response: Response) => (streamed ? asPieces(response) : response)

    /** Under the request's `Idempotency-Key`, where it has one. */
    const answered = <E, R>(request: Request, call: GatewayCall, principal: string, app: Answering<E, R>) => {
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
            keep,
            mayEnd: Effect.succeed(true)
          })
        })
      ).pipe(
        Effect.map((response) => asWanted(call, response)),
        Effect.catchTag("UnitsAreExhausted", () =>
          // Whoever says that he pays by card would be refused with a payment of a machine in his hand.
          request.headers["x-payment-method"] === undefined
            ? Effect.map(machines.challenge(paidRequestOf(call)), (challenge) => exhausted(checkoutOf(call), challenge))
            : Effect.succeed(exhausted(checkoutOf(call), undefined))
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
            return paymentIsInProgress
          case "Unpaid": {
            const key = request.headers["idempotency-key"]
            const earlier =
              key !== undefined && redeemed.failure === "challenge is used"
                ? yield* idempotency.earlier({ principal, route: gatewayRoute, key }, digest(call.fingerprint()))
                : Option.none()
            return Option.match(earlier, {
              onNone: () => unpaid(checkoutOf(call), redeemed),
              onSome: (response) => asWanted(call, response)
            })
          }
          case "Paid": {
            const { claim, receipt } = redeemed
            const held = yield* machines.hold(claim)
            const response = yield* answered(request, call, principal, (keep) =>
              Effect.gen(function* () {
                const opening = yield* Ref.make(Option.none<ChatOpening>())
                const opened = (known: ChatOpening) => Ref.set(opening, Option.some(known))
                return yield* tell(call, {
                  plugin: call.plugin,
                  payment: { method: "mpp", receipt: receipt.reference },
                  run: plugins.run(call.input, caller, { opened }),
                  opening,
                  headers: { "payment-receipt": receiptHeader(receipt), "cache-control": "private" },
                  keep,
                  mayEnd: held.answered
                })
              })
            )
            // A stream says itself when it has come to its end. What is no success leaves the payment good.
            if (isStream(response) || response.status >= 300) return response
            return (yield* held.answered) ? asWanted(call, response) : paymentIsInProgress
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
            onNone: () => addressKey(Option.getOrElse(address, () => "unknown")),
            onSome: ({ id }) => id
          })
        )
        const method = yield* Either.mapLeft(
          choosePaymentMethod({
            asked: request.headers["x-payment-method"],
            authorization: request.headers["authorization"]
          }),
          ({ message }) => new PluginInputIsInvalid({ field: "x-payment-method", reason: message })
        )
        const content = yield* readContent(request)
        const asked = pluginAsked(request, content)
        if (Either.isLeft(asked) && asked.left._tag === "PluginIsUnknown") return yield* asked.left
        if (method === "card" && Option.isNone(user)) return yield* new NotSignedIn()
        const plugin = yield* asked
        yield* Effect.annotateCurrentSpan({ "gateway.plugin": plugin, "gateway.payment": method })
        const call = yield* readCall(request, plugin, yield* content)
        return yield* withinCall(
          method === "card" && Option.isSome(user) ? byCard(user.value, request, call) : byMachine(user, request, call)
        )
      }).pipe(Effect.catchAll((failure) => Effect.succeed(failureResponse(failure))))

    return handlers
      .handleRaw("call", ({ request }) => answer(request))
      .handle("preflight", () => Effect.succeed(preflightAnswer({ crossOrigin })))
  })
)
