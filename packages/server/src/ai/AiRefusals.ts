import {
  ModelIsUnknownBody,
  MessagesAreMissingBody,
  NoModelsAvailableBody,
  ProviderFailedBody
} from "@berth/api/ai/AiErrorBodies"
import { type ParameterIsUnsupported, ParameterIsUnsupportedBody } from "@berth/api/ai/OpenAiErrors"
import type { ProviderFailed } from "@berth/domain/ai/ModelChat"
import type { MessagesAreMissing, ModelIsUnknown, NoModelsAvailable } from "@berth/domain/ai/ModelErrors"
import type { HttpServerResponse } from "@effect/platform"
import { errorResponse } from "../http/ErrorResponse.ts"

export type AiRefusal =
  MessagesAreMissing | ModelIsUnknown | NoModelsAvailable | ParameterIsUnsupported | ProviderFailed

/** What is answered where a model does not answer, as the contract has it. */
export const refused = (failure: AiRefusal): HttpServerResponse.HttpServerResponse => {
  switch (failure._tag) {
    case "MessagesAreMissing":
      return errorResponse(MessagesAreMissingBody, failure)
    case "ModelIsUnknown":
      return errorResponse(ModelIsUnknownBody, failure)
    case "NoModelsAvailable":
      return errorResponse(NoModelsAvailableBody, failure)
    case "ParameterIsUnsupported":
      return errorResponse(ParameterIsUnsupportedBody, failure)
    case "ProviderFailed":
      return errorResponse(ProviderFailedBody, failure)
  }
}
