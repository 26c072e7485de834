import {
  ModelNotFoundBody,
  MessagesMissingBody,
  ModelsUnavailableBody,
  ProviderFailedBody
} from "@berth/api/ai/AiErrorBodies"
import { ParameterUnsupportedBody } from "@berth/api/ai/OpenAiErrors"
import { Schema } from "effect"
import { makeErrorResponse } from "../http/ErrorResponse.ts"

const AiFailureBody = Schema.Union(
  ModelNotFoundBody,
  MessagesMissingBody,
  ModelsUnavailableBody,
  ParameterUnsupportedBody,
  ProviderFailedBody
)

export const toAiErrorResponse = (failure: typeof AiFailureBody.Type) => makeErrorResponse(AiFailureBody, failure)
