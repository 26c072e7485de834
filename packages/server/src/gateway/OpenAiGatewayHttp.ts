import { ModelNotFoundBody } from "@berth/api/ai/AiErrorBodies"
import { ParameterUnsupportedBody, type ParameterUnsupported } from "@berth/api/ai/OpenAiErrors"
import { completionsPath, formatAgentModel, parseAgentModel } from "@berth/api/gateway/OpenAiGatewayApi"
import { WebApi } from "@berth/api/WebApi"
import { Agents } from "@berth/domain/agents/Agents"
import { ModelNotFound } from "@berth/domain/ai/models/ModelErrors"
import { Gateway } from "@berth/domain/gateway/Gateway"
import type { PluginInput } from "@berth/domain/gateway/PluginInput"
import { ModelAnswers } from "@berth/domain/gateway/plugins/ModelAnswers"
import { collectResult } from "@berth/domain/gateway/plugins/PluginRun"
import { Conversations } from "@berth/domain/interaction/conversations/Conversations"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Principal, principalWithScope, requireScope } from "@berth/domain/sessions/Principal"
import type { User } from "@berth/domain/shared/User"
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect, Either, Encoding, Option } from "effect"
import { readCompletion } from "../ai/CompletionRequest.ts"
import { currentSeconds, listModel } from "../ai/OpenAiHttp.ts"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { makeAgentCompletion } from "./AgentCompletions.ts"
import { readContent } from "./CallContent.ts"
import { type GatewayFailure, toGatewayErrorResponse } from "./GatewayErrorResponses.ts"
import { respondCompletion } from "./ModelCompletions.ts"
import { readSpeechRequest } from "./SpeechRequest.ts"

export const layer = HttpApiBuilder.group(WebApi, "openAiGateway", (handlers) =>
  Effect.gen(function* () {
    const { appUrl } = yield* WebSettings
    const limiter = yield* RateLimiter
    const gateway = yield* Gateway
    const answers = yield* ModelAnswers
    const agents = yield* Agents
    const completeByAgent = makeAgentCompletion(yield* Conversations)

    /** Only machine payments are bound to a request. */
    const request = { route: `POST ${completionsPath}`, body: new Uint8Array() }
    const call = (user: User, input: PluginInput, isStreamed = false) =>
      gateway.call({ payer: { method: "card", user, isNamed: true }, input, credentials: [], request, isStreamed })

    const refuse = (failure: GatewayFailure | ParameterUnsupported, model?: string) => {
      if (failure._tag === "ParameterUnsupported") return makeErrorResponse(ParameterUnsupportedBody, failure)
      return failure._tag === "PluginInputInvalid" && failure.field === "model" && model !== undefined
        ? makeErrorResponse(ModelNotFoundBody, new ModelNotFound({ model }))
        : toGatewayErrorResponse(failure, appUrl)
    }

    const listModels = Effect.gen(function* () {
      const principal = yield* Principal
      const owned = Either.isRight(requireScope(principal, "chat"))
        ? (yield* agents.list(principal.user.id)).map(({ id }) => formatAgentModel(id))
        : []
      return [...owned, ...(yield* answers.models)].map((id) => listModel({ id }))
    })
    const findModel = (id: string) =>
      Effect.flatMap(listModels, (models) =>
        Effect.mapError(
          Option.fromNullable(models.find((model) => model.id === id)),
          () => new ModelNotFound({ model: id })
        )
      )

    return handlers
      .handle("createChatCompletion", ({ headers, payload }) =>
        Effect.gen(function* () {
          const agentId = parseAgentModel(payload.model)
          const { user } = yield* Option.isSome(agentId) ? principalWithScope("chat") : Principal
          const created = yield* currentSeconds
          if (Option.isSome(agentId))
            return yield* completeByAgent(user, agentId.value, headers["x-session-id"], payload, created)
          return yield* Effect.gen(function* () {
            const { messages, model, options } = yield* readCompletion(payload)
            yield* limiter.take("gateway", user.id)
            const input = { plugin: "generate-text", request: { messages, model, options } } as const
            return yield* respondCompletion(yield* call(user, input, payload.stream === true), payload, created)
          }).pipe(Effect.catchAll((failure) => Effect.succeed(refuse(failure, payload.model))))
        })
      )
      .handleRaw("createSpeech", ({ request: received }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          yield* limiter.take("gateway", user.id)
          const input = yield* readSpeechRequest("tts", yield* yield* readContent(received))
          const { audioType, message } = yield* collectResult((yield* call(user, input)).events)
          const audio = yield* Effect.orDie(Encoding.decodeBase64(message))
          return HttpServerResponse.uint8Array(audio, { contentType: audioType ?? "application/octet-stream" })
        }).pipe(Effect.catchAll((failure) => Effect.succeed(refuse(failure))))
      )
      .handleRaw("createTranscription", ({ request: received }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          yield* limiter.take("gateway", user.id)
          const content = yield* yield* readContent(received)
          const input = yield* readSpeechRequest("stt", content)
          const { message } = yield* collectResult((yield* call(user, input)).events)
          return content._tag === "Form" && content.form.fields.get("response_format") === "text"
            ? HttpServerResponse.text(`${message}\n`)
            : HttpServerResponse.unsafeJson({ text: message })
        }).pipe(Effect.catchAll((failure) => Effect.succeed(refuse(failure))))
      )
      .handle("listModels", () => Effect.map(listModels, (data) => ({ object: "list" as const, data })))
      .handle("retrieveModel", ({ path }) => findModel(path.id))
      .handle("retrieveModelOfVendor", ({ path }) => findModel(`${path.vendor}/${path.name}`))
  })
)
