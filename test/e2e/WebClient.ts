import { WebApi } from "@berth/api/WebApi"
import { Sse } from "@effect/experimental"
import {
  Cookies,
  FetchHttpClient,
  type Headers,
  HttpApiClient,
  HttpClient,
  HttpClientRequest,
  HttpClientResponse,
  type HttpMethod
} from "@effect/platform"
import { Cause, Data, Duration, Effect, Option, Redacted, Ref, Schema, Stream } from "effect"
import { randomBytes } from "node:crypto"
import { eventually } from "../support/Eventually.ts"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"

interface WebResponse {
  readonly status: number
  readonly headers: Headers.Headers
  /** The parsed JSON, or the text. */
  readonly body: unknown
}

interface RawRequestOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A server-sent event with its parsed data. */
export interface StreamedEvent {
  readonly event: string
  readonly id: string | undefined
  readonly data: unknown
}

class ResponseTimedOut extends Data.TaggedError("ResponseTimedOut")<{ readonly request: string }> {
  override get message() {
    return `No answer in time: ${this.request}`
  }
}

/** Timeout of a request. */
const responseTimeout = Duration.seconds(60)

const parsed = (text: string): unknown =>
  Option.getOrElse(Option.liftThrowable((): unknown => JSON.parse(text))(), () => text)

const Chatted = Schema.Struct({ sessionId: Schema.String, reply: Schema.String, timestamp: Schema.Number })
const Uploaded = Schema.Struct({ attachment: Schema.Struct({ id: Schema.String }) })
const decodeChatted = Schema.decodeUnknown(Chatted)

class RequestRefused extends Data.TaggedError("RequestRefused")<{ readonly answer: WebResponse }> {
  override get message() {
    return `${this.answer.status} ${JSON.stringify(this.answer.body)}`
  }
}

export interface TestAccount {
  readonly email: string
  readonly password: string
}

export const makeAccount = (name: string): TestAccount => {
  const chance = randomBytes(6).toString("hex")
  return { email: `${name}-${chance}@example.com`, password: `pass-${chance}-word` }
}

/** A client of one web API with its own cookie jar, typed and raw. */
export const openWebClient = (webUrl: string) =>
  Effect.gen(function* () {
    const jar = yield* Ref.make(Cookies.empty)
    const withJar = (client: HttpClient.HttpClient) =>
      HttpClient.transformResponse(
        HttpClient.withCookiesRef(client, jar),
        Effect.timeoutFailCause({
          duration: responseTimeout,
          onTimeout: () => Cause.die(new ResponseTimedOut({ request: webUrl }))
        })
      )
    // Requests contain no trace headers.
    const httpClient = withJar(yield* HttpClient.HttpClient)
    const http = HttpClient.withTracerPropagation(httpClient, false)
    // Only the groups that tests call: a client of every endpoint takes long to build.
    const api = yield* Effect.all({
      accounts: HttpApiClient.group(WebApi, { group: "accounts", baseUrl: webUrl, httpClient }),
      agents: HttpApiClient.group(WebApi, { group: "agents", baseUrl: webUrl, httpClient }),
      instances: HttpApiClient.group(WebApi, { group: "instances", baseUrl: webUrl, httpClient })
    })

    const requestOf = (method: HttpMethod.HttpMethod, path: string, options: RawRequestOptions) => {
      const request = HttpClientRequest.make(method)(`${webUrl}${path}`, { headers: { ...options.headers } })
      return options.body === undefined ? request : HttpClientRequest.bodyUnsafeJson(request, options.body)
    }

    const raw = (method: HttpMethod.HttpMethod, path: string, options: RawRequestOptions = {}) =>
      Effect.gen(function* () {
        const response = yield* http.execute(requestOf(method, path, options))
        const body = parsed(yield* response.text)
        return { status: response.status, headers: response.headers, body } satisfies WebResponse
      }).pipe(
        Effect.timeoutFail({
          duration: responseTimeout,
          onTimeout: () => new ResponseTimedOut({ request: `${method} ${path}` })
        })
      )

    /** Events of a stream; fails if the response is not a stream. */
    const events = (path: string, body: unknown, more: RawRequestOptions["headers"] = {}) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const options = { body, headers: { accept: "text/event-stream", ...more } }
          const response = yield* http.execute(requestOf("POST", path, options))
          const { headers, status } = response
          if (status !== 200)
            return yield* new RequestRefused({ answer: { status, headers, body: parsed(yield* response.text) } })
          return response.stream.pipe(
            Stream.decodeText(),
            Stream.pipeThroughChannel(Sse.makeChannel()),
            Stream.map(({ data, event, id }): StreamedEvent => ({ event, id, data: parsed(data) }))
          )
        })
      ).pipe(Stream.timeoutFail(() => new ResponseTimedOut({ request: `POST ${path}` }), responseTimeout))

    /** The events after a given one. */
    const resume = (path: string, lastEventId: string) => events(path, {}, { "last-event-id": lastEventId })

    const register = (account: TestAccount) =>
      api.accounts.register({ payload: { email: account.email, password: Redacted.make(account.password) } })

    const signIn = (account: TestAccount) =>
      Effect.flatMap(raw("POST", "/api/auth/callback/credentials", { body: account }), (answer) =>
        answer.status === 200 ? Effect.void : Effect.fail(new RequestRefused({ answer }))
      )

    const statusOf = (id: AgentId) => Effect.map(api.agents.detail({ path: { id } }), ({ agent }) => agent.status)

    const provision = (name: string, customModel?: string) =>
      Effect.map(
        api.agents.provision({
          payload: customModel === undefined ? { name } : { name, model: "custom", config: { customModel } }
        }),
        ({ agent }) => agent
      )

    /** Sends a message and returns the reply; fails with the response when it is not 200. */
    const chat = (message: string, sessionId?: string) =>
      Effect.flatMap(
        raw("POST", "/api/agent", { body: sessionId === undefined ? { message } : { message, sessionId } }),
        (answer) =>
          answer.status === 200 ? Effect.orDie(decodeChatted(answer.body)) : Effect.fail(new RequestRefused({ answer }))
      )

    /** Uploads a file for a message and returns its id. */
    const upload = (agentId: AgentId, name: string, content: Uint8Array) =>
      Effect.gen(function* () {
        const path = `/api/agents/${agentId}/attachments?name=${encodeURIComponent(name)}`
        const request = HttpClientRequest.bodyUint8Array(requestOf("POST", path, {}), content)
        const { attachment } = yield* HttpClientResponse.schemaBodyJson(Uploaded)(yield* http.execute(request))
        return attachment.id
      })

    return {
      api,
      raw,
      upload,
      events,
      resume,
      register,
      signIn,
      provision,
      chat,
      statusOf,
      cookies: Ref.get(jar),
      /** Waits until the agent runs; tolerates failed requests. */
      untilRunning: (id: AgentId) =>
        Effect.orDie(
          eventually(
            Effect.orElseSucceed(statusOf(id), () => "no answer" as const),
            (status) => status === "running" || status === "active",
            { description: `agent ${id} to run`, timeout: "90 seconds" }
          )
        )
    }
  }).pipe(Effect.provide(FetchHttpClient.layer))

export const signUpClient = (webUrl: string, name = "user", account = makeAccount(name)) =>
  Effect.gen(function* () {
    const visitor = yield* openWebClient(webUrl)
    const { id } = yield* visitor.register(account)
    yield* visitor.signIn(account)
    return { ...visitor, account, userId: UserId.make(id) }
  })

export type SignedUpClient = Effect.Effect.Success<ReturnType<typeof signUpClient>>
