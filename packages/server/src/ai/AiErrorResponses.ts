import {
  ModelNotFoundBody,
  MessagesMissingBody,
  ModelsUnavailableBody,
  ProviderFailedBody
} from "@berth/api/ai/AiErrorBodies"
import { type ParameterUnsupported, ParameterUnsupportedBody } from "@berth/api/ai/OpenAiErrors"
import type {
  MessagesMissing,
  ModelNotFound,
  ModelsUnavailable,
  ProviderFailed
} from "@berth/domain/ai/models/ModelErrors"
import type { HttpServerResponse } from "@effect/platform"
import { makeErrorResponse } from "../http/ErrorResponse.ts"

export type AiFailure = MessagesMissing | ModelNotFound | ModelsUnavailable | ParameterUnsupported | ProviderFailed

export const toAiErrorResponse = (failure: AiFailure): HttpServerResponse.HttpServerResponse => {
  switch (failure._tag) {
    case "MessagesMissing":
      return makeErrorResponse(MessagesMissingBody, failure)
    case "ModelNotFound":
      return makeErrorResponse(ModelNotFoundBody, failure)
    case "ModelsUnavailable":
      return makeErrorResponse(ModelsUnavailableBody, failure)
    case "ParameterUnsupported":
      return makeErrorResponse(ParameterUnsupportedBody, failure)
    case "ProviderFailed":
      return makeErrorResponse(ProviderFailedBody, failure)
  }
}
