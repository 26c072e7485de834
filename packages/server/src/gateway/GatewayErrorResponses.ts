import { AgentNotFoundBody } from "@berth/api/agents/AgentErrorBodies"
import { BudgetExceededBody } from "@berth/api/billing/BillingErrorBodies"
import {
  describeUnpaidCall,
  PaymentInProgressBody,
  PaymentsUnavailable,
  PaymentsUnavailableBody,
  PluginFailedBody,
  PluginNotFoundBody
} from "@berth/api/gateway/GatewayErrorBodies"
import { InvalidRequestBody } from "@berth/api/http/RequestErrors"
import { ImagesNotSupportedBody } from "@berth/api/interaction/AttachmentsApi"
import { makeRetryAfterHeader, RateLimitExceededBody, retrySoon } from "@berth/api/limits/RateLimits"
import { ScopeMissingBody } from "@berth/api/sessions/RequiredScope"
import { AuthenticationRequiredBody } from "@berth/api/sessions/SessionAuth"
import type { ChainUnreachable } from "@berth/domain/chain/Chain"
import type { CallUnpaid } from "@berth/domain/gateway/GatewayErrors"
import type { PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { HttpApiError, HttpServerResponse } from "@effect/platform"
import { Schema } from "effect"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import type { BodyFailure } from "../http/ListenerRequest.ts"
import { toBodyErrorResponse } from "../http/RequestBody.ts"

const CallFailureBody = Schema.Union(
  RateLimitExceededBody,
  AuthenticationRequiredBody,
  ScopeMissingBody,
  InvalidRequestBody,
  PluginNotFoundBody,
  ImagesNotSupportedBody,
  PluginFailedBody,
  AgentNotFoundBody,
  BudgetExceededBody,
  PaymentInProgressBody
)

export type GatewayFailure =
  typeof CallFailureBody.Type | PluginInputInvalid | ChainUnreachable | BodyFailure | CallUnpaid

/** Converts to a decode error, like every other mismatch with the contract. */
const toDecodeError = ({ field, reason }: PluginInputInvalid) =>
  new HttpApiError.HttpApiDecodeError({
    message: reason,
    issues: [{ _tag: "Type", path: [field], message: reason }]
  })

export const toGatewayErrorResponse = (failure: GatewayFailure, appUrl: URL): HttpServerResponse.HttpServerResponse => {
  switch (failure._tag) {
    case "RateLimitExceeded":
    case "PluginFailed":
      return makeErrorResponse(CallFailureBody, failure, makeRetryAfterHeader(failure.retryAfter))
    case "PaymentInProgress":
      return makeErrorResponse(CallFailureBody, failure, makeRetryAfterHeader(retrySoon))
    case "PluginInputInvalid":
      return makeErrorResponse(CallFailureBody, toDecodeError(failure))
    case "ChainUnreachable":
      return makeErrorResponse(PaymentsUnavailableBody, new PaymentsUnavailable(), makeRetryAfterHeader(retrySoon))
    case "CallUnpaid": {
      const { body, ...options } = describeUnpaidCall(failure, appUrl)
      // Hot path: the envelope of errors encodes it once.
      return HttpServerResponse.raw(body, options)
    }
    case "AuthenticationRequired":
    case "ScopeMissing":
    case "HttpApiDecodeError":
    case "PluginNotFound":
    case "ImagesNotSupported":
    case "AgentNotFound":
    case "BudgetExceeded":
      return makeErrorResponse(CallFailureBody, failure)
    case "BodyTooLarge":
    case "BodyMalformed":
    case "MediaTypeUnsupported":
    case "RequestTimeout":
      return toBodyErrorResponse(failure)
  }
}
