import { ModelNotFoundBody } from "@berth/api/ai/AiErrorBodies"
import type { OpenAiCompletionPayload } from "@berth/api/ai/OpenAiApi"
import { ParameterUnsupportedBody, type ParameterUnsupported } from "@berth/api/ai/OpenAiErrors"
import type { ResponseNotFound } from "@berth/api/ai/ResponsesApi"
import { completionsPath, parseAgentModel } from "@berth/api/gateway/OpenAiGatewayApi"
import { ModelNotFound } from "@berth/domain/ai/models/ModelErrors"
import { Gateway } from "@berth/domain/gateway/Gateway"
import type { PluginInput } from "@berth/domain/gateway/PluginInput"
import { Attachments } from "@berth/domain/interaction/attachments/Attachments"
import type { ChatSessionId } from "@berth/domain/interaction/Conversation"
import { Conversations } from "@berth/domain/interaction/conversations/Conversations"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Principal, principalWithScope } from "@berth/domain/sessions/Principal"
import type { User } from "@berth/domain/shared/User"
import type { HttpServerRequest } from "@effect/platform"
import { Effect, Either, Option, type Schema } from "effect"
import { readCompletion } from "../ai/CompletionRequest.ts"
import { currentSeconds } from "../ai/OpenAiHttp.ts"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import { readParsedBody } from "../http/RequestBody.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { makeAgentCompletion } from "./AgentCompletions.ts"
import { makeDecoder } from "./CallContent.ts"
import type { CompletionFormat } from "./CompletionFormat.ts"
import { type GatewayFailure, toGatewayErrorResponse } from "./GatewayErrorResponses.ts"
import { respondCompletion } from "./ModelCompletions.ts"

/** Calls in OpenAI's protocols, paid by card. */
export const makeOpenAiCalls = Effect.gen(function* () {
  const { appUrl } = yield* WebSettings
  const limiter = yield* RateLimiter
  const gateway = yield* Gateway
  const completeByAgent = makeAgentCompletion(yield* Conversations, yield* Attachments)

  /** Constant, since only machine payments are bound to a request. */
  const request = { route: `POST ${completionsPath}`, body: new Uint8Array() }
  const call = (user: User, input: PluginInput, isStreamed = false) =>
    gateway.call({ payer: { method: "card", user, isNamed: true }, input, credentials: [], request, isStreamed })

  const refuse = (failure: GatewayFailure | ParameterUnsupported, model?: string) => {
    if (failure._tag === "ParameterUnsupported") return makeErrorResponse(ParameterUnsupportedBody, failure)
    return failure._tag === "PluginInputInvalid" && failure.field === "model" && model !== undefined
      ? makeErrorResponse(ModelNotFoundBody, new ModelNotFound({ model }))
      : toGatewayErrorResponse(failure, appUrl)
  }

  /** Answers by the named agent, else by the model. `read` returns the request in both protocols. */
  const answer = Effect.fnUntraced(function* <E extends ParameterUnsupported | ResponseNotFound>(
    model: string,
    conversation: ChatSessionId | undefined,
    read: (
      user: User,
      isAgent: boolean
    ) => Effect.Effect<{ readonly completion: OpenAiCompletionPayload; readonly format: CompletionFormat }, E>
  ) {
    const agentId = parseAgentModel(model)
    const isAgent = Option.isSome(agentId)
    const { user } = yield* isAgent ? principalWithScope("chat") : Principal
    const created = yield* currentSeconds
    const limited = isAgent ? Either.right(undefined) : yield* Effect.either(limiter.take("gateway", user.id))
    // Before the request is read, which can load stored responses.
    if (Either.isLeft(limited)) return refuse(limited.left)
    const { completion, format } = yield* read(user, isAgent)
    if (isAgent) return yield* completeByAgent(user, agentId.value, conversation, completion, created, format)
    return yield* Effect.gen(function* () {
      const { messages, options } = yield* readCompletion(completion)
      const isStreamed = completion.stream === true
      const input = { plugin: "generate-text", request: { messages, model, options } } as const
      return yield* respondCompletion(yield* call(user, input, isStreamed), isStreamed, created, format)
    }).pipe(Effect.catchAll((failure) => Effect.succeed(refuse(failure, model))))
  })

  /** Answers a decoded body. One that cannot be decoded counts too; the answer counts the others by their model. */
  const withPayload = <A, I>(schema: Schema.Schema<A, I>) => {
    const decode = makeDecoder(schema)
    return <B, E, R>(request: HttpServerRequest.HttpServerRequest, use: (payload: A) => Effect.Effect<B, E, R>) =>
      Effect.matchEffect(
        Effect.flatMap(Effect.flatten(readParsedBody(request)), ({ value }) => decode(value)),
        {
          onFailure: (failure) =>
            Effect.flatMap(Principal, ({ user }) => limiter.take("gateway", user.id)).pipe(
              Effect.match({ onFailure: refuse, onSuccess: () => refuse(failure) })
            ),
          onSuccess: use
        }
      )
  }

  return { call, refuse, answer, withPayload }
})
