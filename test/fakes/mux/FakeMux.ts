import { Effect, Redacted, type Scope } from "effect"
import { createServer, type IncomingMessage } from "node:http"
import { parseJsonObject } from "../../support/HttpCall.ts"
import { listenLocally } from "../../support/LocalServer.ts"

interface FakeMux {
  readonly access: { readonly apiUrl: URL; readonly tokenId: string; readonly tokenSecret: Redacted.Redacted }
  /** The `passthrough` of every existing stream. */
  readonly references: Effect.Effect<ReadonlyArray<string>>
  readonly setStatus: (status: "idle" | "active" | "disabled") => Effect.Effect<void>
  /** Responds with this status to every call; null restores the behavior of Mux. */
  readonly failWith: (status: number | null) => Effect.Effect<void>
}

const tokenId = "44c819de-4add-4c9f-b2e9-384a0a71bede"
const tokenSecret = "mux-secret-hunter2"
const authorization = `Basic ${Buffer.from(`${tokenId}:${tokenSecret}`).toString("base64")}`

interface Answer {
  readonly status: number
  readonly body?: unknown
}

const refuse = (status: number, type: string, message: string): Answer => ({
  status,
  body: { error: { type, messages: [message] } }
})

const policies = ["public", "signed", "drm"]
const latencies = ["low", "reduced", "standard"]

const isListOf = (value: unknown, allowed: ReadonlyArray<string>) =>
  Array.isArray(value) && value.every((one: unknown) => typeof one === "string" && allowed.includes(one))

const readBody = (request: IncomingMessage) =>
  new Promise<string>((resolve) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.once("end", () => resolve(Buffer.concat(chunks).toString("utf8")))
  })

/** The live-stream endpoints of Mux Video over HTTP. */
export const makeFakeMux: Effect.Effect<FakeMux, never, Scope.Scope> = Effect.gen(function* () {
  const streams = new Map<
    string,
    { readonly key: string; readonly passthrough: string; readonly playbackIds: ReadonlyArray<unknown> }
  >()
  const state: { status: string; failure: number | null } = { status: "idle", failure: null }
  let made = 0

  const show = (id: string): Answer => {
    const stream = streams.get(id)
    return stream === undefined
      ? refuse(404, "not_found", "The requested resource either doesn't exist or you don't have access to it.")
      : {
          status: 200,
          body: {
            data: {
              id,
              stream_key: stream.key,
              status: state.status,
              playback_ids: stream.playbackIds,
              passthrough: stream.passthrough,
              reconnect_window: 60,
              created_at: "1717245600"
            }
          }
        }
  }

  const create = (text: string): Answer => {
    const fields: Readonly<Record<string, unknown>> = parseJsonObject(text)
    const { latency_mode: latency = "standard", passthrough = "", playback_policy: policy = [] } = fields
    if (!isListOf(policy, policies)) return refuse(400, "invalid_parameters", "Invalid playback policy")
    if (!isListOf([latency], latencies)) return refuse(400, "invalid_parameters", "Invalid latency mode")
    if (typeof passthrough !== "string" || passthrough.length > 255)
      return refuse(400, "invalid_parameters", "Passthrough must be 255 characters or less")
    made += 1
    const id = `QrikEQpEXp3RvklQSHyHSYOakQkXlRId${made}`
    const playbackIds = Array.isArray(policy) ? policy.map((one: unknown) => ({ id: `play${made}`, policy: one })) : []
    streams.set(id, { key: `key-of-${id}`, passthrough, playbackIds })
    return { ...show(id), status: 201 }
  }

  const resetKey = (id: string): Answer => {
    const stream = streams.get(id)
    if (stream !== undefined) streams.set(id, { ...stream, key: `${stream.key}-again` })
    return stream === undefined ? show(id) : { ...show(id), status: 201 }
  }

  const list = (parameters: URLSearchParams): Answer => {
    const [limit, page] = [Number(parameters.get("limit") ?? 10), Number(parameters.get("page") ?? 1)]
    if (!(limit >= 1 && limit <= 100 && page >= 1)) return refuse(400, "invalid_parameters", "Invalid page")
    const wanted = parameters.get("status")
    const ids = wanted === null || wanted === state.status ? [...streams.keys()] : []
    return {
      status: 200,
      body: { data: ids.slice((page - 1) * limit, page * limit).map((id) => ({ id, status: state.status })) }
    }
  }

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const text = await readBody(request)
    if (state.failure !== null) return refuse(state.failure, "internal_error", "Something failed")
    if (request.headers.authorization !== authorization)
      return refuse(401, "unauthorized", "Unauthorized request. Make sure that authorization credentials are present.")
    const [, id = "", action = ""] =
      /^\/video\/v1\/live-streams(?:\/([^/]+)(?:\/(reset-stream-key))?)?$/.exec(
        (request.url ?? "").replace(/\?.*/, "")
      ) ?? []
    if (action !== "") return request.method === "POST" ? resetKey(id) : refuse(404, "not_found", "No such route")
    if (request.method === "POST" && id === "") return create(text)
    if (request.method === "GET" && id === "") return list(new URL(request.url ?? "", "http://mux").searchParams)
    if (request.method === "GET" && id !== "") return show(id)
    if (request.method === "DELETE" && id !== "") return streams.delete(id) ? { status: 204 } : show(id)
    return refuse(404, "not_found", "No such route")
  }

  const server = createServer((request, response) => {
    void answer(request).then(({ body, status }) =>
      response
        .writeHead(status, { "content-type": "application/json" })
        .end(body === undefined ? undefined : JSON.stringify(body))
    )
  })
  const { origin } = yield* listenLocally(server)
  return {
    access: { apiUrl: new URL(origin), tokenId, tokenSecret: Redacted.make(tokenSecret) },
    references: Effect.sync(() => [...streams.values()].map(({ passthrough }) => passthrough)),
    setStatus: (status) =>
      Effect.sync(() => {
        state.status = status
      }),
    failWith: (status) =>
      Effect.sync(() => {
        state.failure = status
      })
  }
})
