import { AgentIsUnknownBody } from "@berth/api/agents/AgentErrorBodies"
import {
  PaymentIsInProgress,
  PaymentIsInProgressBody,
  PaymentsAreUnavailable,
  PaymentsAreUnavailableBody,
  PluginFailedBody,
  type PluginIsUnknown,
  PluginIsUnknownBody
} from "@berth/api/gateway/GatewayErrorBodies"
import { InvalidRequestBody } from "@berth/api/http/RequestErrors"
import { retryAfterSeconds, TooManyRequestsBody } from "@berth/api/limits/RateLimits"
import { NotSignedInBody } from "@berth/api/sessions/SessionAuth"
import type { AgentIsUnknown } from "@berth/domain/agents/AgentErrors"
import type { ChainIsUnreachable } from "@berth/domain/chain/ChainErrors"
import type { PluginFailed, PluginInputIsInvalid } from "@berth/domain/gateway/PluginRun"
import type { TooManyRequests } from "@berth/domain/limits/RateLimiter"
import type { NotSignedIn } from "@berth/domain/sessions/SessionErrors"
import { HttpApiError, type HttpServerResponse } from "@effect/platform"
import type { Duration } from "effect"
import { errorResponse } from "../http/ErrorResponse.ts"
import { bodyRefusal, type BodyRefusal } from "../http/RequestBody.ts"

export type GatewayFailure =
  | TooManyRequests
  | NotSignedIn
  | HttpApiError.HttpApiDecodeError
  | PluginIsUnknown
  | PluginInputIsInvalid
  | PluginFailed
  | AgentIsUnknown
  | ChainIsUnreachable
  | BodyRefusal

const comeBack = (after: Duration.Duration | undefined) =>
  after === undefined ? {} : { "retry-after": String(retryAfterSeconds(after)) }

const soon = { "retry-after": "1" }

/** Somebody else answers with this payment. */
export const paymentIsInProgress = errorResponse(PaymentIsInProgressBody, new PaymentIsInProgress(), soon)

/** One field and what is wrong with it, as of any other mismatch with the contract. */
const mismatch = ({ field, reason }: PluginInputIsInvalid) =>
  new HttpApiError.HttpApiDecodeError({
    message: reason,
    issues: [{ _tag: "Type", path: [field], message: reason }]
  })

/** What a call is answered with that was not carried out. */
export const failureResponse = (failure: GatewayFailure): HttpServerResponse.HttpServerResponse => {
  switch (failure._tag) {
    case "TooManyRequests":
      return errorResponse(TooManyRequestsBody, failure, comeBack(failure.retryAfter))
    case "NotSignedIn":
      return errorResponse(NotSignedInBody, failure)
    case "HttpApiDecodeError":
      return errorResponse(InvalidRequestBody, failure)
    case "PluginIsUnknown":
      return errorResponse(PluginIsUnknownBody, failure)
    case "PluginInputIsInvalid":
      return errorResponse(InvalidRequestBody, mismatch(failure))
    case "AgentIsUnknown":
      return errorResponse(AgentIsUnknownBody, failure)
    case "PluginFailed":
      return errorResponse(PluginFailedBody, failure, comeBack(failure.retryAfter))
    case "ChainIsUnreachable":
      return errorResponse(PaymentsAreUnavailableBody, new PaymentsAreUnavailable(), soon)
    case "BodyIsTooLarge":
    case "BodyIsMalformed":
    case "MediaTypeIsUnsupported":
      return bodyRefusal(failure)
  }
}
