import { GatewayApi, gatewayRoute, paymentMethodHeader } from "@berth/api/gateway/GatewayApi"
import { CrossOrigin } from "@berth/api/http/CrossOrigin"
import { WebApi } from "@berth/api/WebApi"
import { choosePaymentMethod, identifyPayer, type CallPayer } from "@berth/domain/gateway/calls/PaymentMethod"
import { Gateway } from "@berth/domain/gateway/Gateway"
import { PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { Digests, hashSecret } from "@berth/domain/secrets/Digests"
import { annotateSpan } from "@berth/domain/shared/SpanExport"
import { useService } from "@berth/domain/shared/HotPath"
import { HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { Context, Effect, Either, FiberRef, Option, Redacted } from "effect"
import { group } from "../http/ApiGroup.ts"
import { currentCredentialWatch } from "../http/CredentialWatch.ts"
import { makePreflightResponse } from "../http/CrossOriginHeaders.ts"
import type { RequestHandler } from "../http/DirectRoutes.ts"
import { IdempotencyMiddleware } from "../http/IdempotencyMiddleware.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { readContent } from "./CallContent.ts"
import { makeCallLimit } from "./CallLimit.ts"
import { type ReceivedCall, readCall, readPluginId } from "./ReceivedCall.ts"
import { toGatewayErrorResponse } from "./GatewayErrorResponses.ts"
import { respondStreamed, respondWhole, toStreamedResponse } from "./GatewayResponse.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

const crossOrigin = Context.get(GatewayApi.annotations, CrossOrigin)

const makeAnswer = Effect.gen(function* () {
  const { appUrl } = yield* WebSettings
  const { count, find } = yield* makeCallLimit
  const idempotency = yield* IdempotencyMiddleware
  const digests = yield* Digests
  const gateway = yield* Gateway

  const respond = (
    request: Request,
    payer: CallPayer,
    { body, input, plugin, streamed }: ReceivedCall,
    store: (response: Response) => Effect.Effect<void>
  ) => {
    const authorization = request.headers["authorization"]
    const credentials = authorization === undefined ? [] : [authorization]
    const call = { payer, input, credentials, request: { route: gatewayRoute, body }, isStreamed: streamed }
    return Effect.flatMap(gateway.call(call), (opened) =>
      streamed ? Effect.succeed(respondStreamed(plugin, opened, store)) : respondWhole(plugin, opened)
    )
  }

  /** A machine payment pays for exactly one answer, so only card calls use `Idempotency-Key`. */
  const respondOnce = (request: Request, payer: CallPayer, call: ReceivedCall) => {
    const key = request.headers["idempotency-key"]
    if (key === undefined || payer.method === "mpp") return respond(request, payer, call, () => Effect.void)
    const principal = { principal: payer.user.id, route: gatewayRoute, key }
    return Effect.map(
      idempotency.runOnce(
        principal,
        hashSecret(digests, Redacted.make(call.fingerprint())),
        (store) => respond(request, payer, call, store),
        { isStreamed: call.streamed }
      ),
      (response) => (call.streamed ? toStreamedResponse(response) : response)
    )
  }

  const answer = Effect.fnUntraced(
    function* (request: Request) {
      const user = Option.map(yield* find, (principal) => principal.user)
      yield* count(user)
      const payment = yield* Either.mapLeft(
        choosePaymentMethod({
          named: request.headers[paymentMethodHeader],
          authorization: request.headers["authorization"],
          acceptPayment: request.headers["accept-payment"],
          hasSession: Option.isSome(user)
        }),
        ({ message }) => new PluginInputInvalid({ field: paymentMethodHeader, reason: message })
      )
      const content = yield* readContent(request)
      const named = readPluginId(request, content)
      if (Either.isLeft(named) && named.left._tag === "PluginNotFound") return yield* named.left
      const payer = yield* identifyPayer(payment, user)
      // A machine payment has paid for the complete answer.
      if (payer.method === "mpp" && Option.isSome(user)) yield* FiberRef.set(currentCredentialWatch, Option.none())
      if (Either.isLeft(named)) return yield* named.left
      const plugin = named.right
      yield* annotateSpan({ "gateway.plugin": plugin, "gateway.payment": payment.method })
      const call = yield* readCall(request, plugin, yield* content)
      return yield* respondOnce(request, payer, call)
    },
    Effect.catchAll((failure) => Effect.succeed(toGatewayErrorResponse(failure, appUrl)))
  )

  return answer
})

export const layer = group(WebApi, "gateway", (handlers) =>
  Effect.map(makeAnswer, (answer) =>
    handlers
      .handleRaw("call", ({ request }) => answer(request))
      .handle("preflight", () => Effect.succeed(makePreflightResponse({ crossOrigin })))
  )
)

/** Answers POST /api/v1/gateway without its contract. */
export const makeDirectCall = Effect.map(
  makeAnswer,
  (answer) => (): RequestHandler => useService(HttpServerRequest.HttpServerRequest, answer)
)
