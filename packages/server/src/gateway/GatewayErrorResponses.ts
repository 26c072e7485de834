import { AgentNotFoundBody } from "@berth/api/agents/AgentErrorBodies"
import { BudgetExceededBody } from "@berth/api/billing/BillingErrorBodies"
import {
  describeUnpaidCall,
  PaymentInProgressBody,
  PaymentsUnavailable,
  PaymentsUnavailableBody,
  PluginFailedBody,
  type PluginNotFound,
  PluginNotFoundBody
} from "@berth/api/gateway/GatewayErrorBodies"
import { InvalidRequestBody } from "@berth/api/http/RequestErrors"
import { ImagesNotSupportedBody } from "@berth/api/interaction/AttachmentsApi"
import { makeRetryAfterHeader, RateLimitExceededBody, retrySoon } from "@berth/api/limits/RateLimits"
import { ScopeMissingBody } from "@berth/api/sessions/RequiredScope"
import { AuthenticationRequiredBody } from "@berth/api/sessions/SessionAuth"
import type { AgentNotFound } from "@berth/domain/agents/AgentErrors"
import type { BudgetExceeded } from "@berth/domain/billing/budgets/Budget"
import type { CallUnpaid, PaymentInProgress } from "@berth/domain/gateway/GatewayErrors"
import type { ChainUnreachable } from "@berth/domain/chain/ChainErrors"
import type { PluginFailed, PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import type { ImagesNotSupported } from "@berth/domain/interaction/attachments/Attachment"
import type { RateLimitExceeded } from "@berth/domain/limits/RateLimiter"
import type { ScopeMissing } from "@berth/domain/sessions/ApiKeyScope"
import type { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { HttpApiError, HttpServerResponse } from "@effect/platform"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import type { BodyFailure } from "../http/ListenerRequest.ts"
import { toBodyErrorResponse } from "../http/RequestBody.ts"

export type GatewayFailure =
  | RateLimitExceeded
  | AuthenticationRequired
  | ScopeMissing
  | HttpApiError.HttpApiDecodeError
  | PluginNotFound
  | PluginInputInvalid
  | ImagesNotSupported
  | PluginFailed
  | AgentNotFound
  | ChainUnreachable
  | BodyFailure
  | CallUnpaid
  | BudgetExceeded
  | PaymentInProgress

/** Converts to a decode error, like every other mismatch with the contract. */
const toDecodeError = ({ field, reason }: PluginInputInvalid) =>
  new HttpApiError.HttpApiDecodeError({
    message: reason,
    issues: [{ _tag: "Type", path: [field], message: reason }]
  })

export const toGatewayErrorResponse = (failure: GatewayFailure, appUrl: URL): HttpServerResponse.HttpServerResponse => {
  switch (failure._tag) {
    case "RateLimitExceeded":
      return makeErrorResponse(RateLimitExceededBody, failure, makeRetryAfterHeader(failure.retryAfter))
    case "AuthenticationRequired":
      return makeErrorResponse(AuthenticationRequiredBody, failure)
    case "ScopeMissing":
      return makeErrorResponse(ScopeMissingBody, failure)
    case "HttpApiDecodeError":
      return makeErrorResponse(InvalidRequestBody, failure)
    case "PluginNotFound":
      return makeErrorResponse(PluginNotFoundBody, failure)
    case "PluginInputInvalid":
      return makeErrorResponse(InvalidRequestBody, toDecodeError(failure))
    case "ImagesNotSupported":
      return makeErrorResponse(ImagesNotSupportedBody, failure)
    case "AgentNotFound":
      return makeErrorResponse(AgentNotFoundBody, failure)
    case "PluginFailed":
      return makeErrorResponse(PluginFailedBody, failure, makeRetryAfterHeader(failure.retryAfter))
    case "ChainUnreachable":
      return makeErrorResponse(PaymentsUnavailableBody, new PaymentsUnavailable(), makeRetryAfterHeader(retrySoon))
    case "CallUnpaid": {
      const { body, ...options } = describeUnpaidCall(failure, appUrl)
      // Hot path: the envelope of errors encodes it once.
      return HttpServerResponse.raw(body, options)
    }
    case "BudgetExceeded":
      return makeErrorResponse(BudgetExceededBody, failure)
    case "PaymentInProgress":
      return makeErrorResponse(PaymentInProgressBody, failure, makeRetryAfterHeader(retrySoon))
    case "BodyTooLarge":
    case "BodyMalformed":
    case "MediaTypeUnsupported":
    case "RequestTimeout":
      return toBodyErrorResponse(failure)
  }
}
