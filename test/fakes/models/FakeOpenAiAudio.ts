import { Effect, Predicate, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { buffer } from "node:stream/consumers"
import { listenLocally } from "../../support/LocalServer.ts"

/** Behavior of the next call. Default: an answer. */
export type AudioBehavior =
  | {
      readonly type: "refuse"
      readonly status: number
      readonly error: unknown
      readonly headers?: Readonly<Record<string, string>>
    }
  /** A literal body. */
  | { readonly type: "raw"; readonly status?: number; readonly contentType: string; readonly body: string }
  /** Sends no response. */
  | { readonly type: "hang" }
  /** Starts an answer and cuts the connection. */
  | { readonly type: "cut" }
  /** Endless audio or text. */
  | { readonly type: "endless" }

interface ReceivedAudioRequest {
  readonly path: string
  readonly authorization: string | undefined
  /** The fields of a JSON or form body; a file as its name and type. */
  readonly fields: Readonly<Record<string, unknown>>
}

export interface FakeOpenAiAudio {
  /** Includes the version. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly received: ReadonlyArray<ReceivedAudioRequest>
  readonly next: (...behaviors: ReadonlyArray<AudioBehavior>) => void
  /** Calls whose client disconnected before the end. */
  readonly left: () => number
}

const apiKey = "sk-audio-fake-81d0"

const voices = ["alloy", "ash", "ballad", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer", "verse"]
const spokenModels = ["tts-1", "tts-1-hd", "gpt-4o-mini-tts"]
const heardModels = ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"]
const heardFormats = ["flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"]

const latin = (text: string) => Buffer.from(text, "latin1")

/** Content type and first bytes of each audio format. */
const formats: Readonly<Record<string, { readonly type: string; readonly head: Buffer }>> = {
  mp3: { type: "audio/mpeg", head: latin("ID3\x04\0\0\0\0\0\0") },
  opus: { type: "audio/opus", head: latin("OggS\0\x02") },
  aac: { type: "audio/aac", head: latin("\xff\xf1\x50\x80") },
  flac: { type: "audio/flac", head: latin("fLaC\0\0\0\x22") },
  wav: { type: "audio/wav", head: latin("RIFF\xff\xff\xff\xffWAVE") },
  pcm: { type: "audio/pcm", head: latin("") }
}
const heads = [...Object.values(formats).map(({ head }) => head), latin("\x1aE\xdf\xa3")].filter(
  (head) => head.length > 0
)

/** Precedes the spoken text. */
const marker = latin("SAID:")

interface Refusal {
  readonly status: number
  readonly error: unknown
}

const refusal = (status: number, message: string, param: string | null, code: string | null = null): Refusal => ({
  status,
  error: { message, type: "invalid_request_error", param, code }
})

const isRefusal = (value: unknown): value is Refusal =>
  Predicate.hasProperty(value, "status") && Predicate.hasProperty(value, "error")

const unknownModel = (model: unknown) =>
  refusal(404, `The model '${String(model)}' does not exist`, "model", "model_not_found")

interface Spoken {
  readonly type: string
  readonly audio: Buffer
}

/** POST /audio/speech */
const speak = (fields: Readonly<Record<string, unknown>>): Spoken | Refusal => {
  const { input, model, response_format: format = "mp3", speed = 1, voice } = fields
  for (const [name, value] of Object.entries({ model, input, voice })) {
    if (typeof value !== "string" || value === "") return refusal(400, `Missing required parameter: '${name}'.`, name)
  }
  if (typeof input !== "string" || input.length > 4096) {
    return refusal(400, "Invalid 'input': string too long. Expected a string with maximum length 4096.", "input")
  }
  if (!spokenModels.includes(String(model))) return unknownModel(model)
  if (!voices.includes(String(voice))) return refusal(400, `Input should be one of ${voices.join(", ")}`, "voice")
  if (typeof speed !== "number" || speed < 0.25 || speed > 4) return refusal(400, "Invalid 'speed'", "speed")
  const made = formats[String(format)]
  if (made === undefined) return refusal(400, "Invalid 'response_format'", "response_format")
  return { type: made.type, audio: Buffer.concat([made.head, marker, Buffer.from(input)]) }
}

/** POST /audio/transcriptions */
const listen = (fields: Readonly<Record<string, unknown>>, file: File | null, bytes: Buffer): object => {
  const { model, response_format: format = "json" } = fields
  if (typeof model !== "string") return refusal(400, "you must provide a model parameter", "model")
  if (file === null) return refusal(400, "Missing required parameter: 'file'.", "file")
  if (!heardModels.includes(model)) return unknownModel(model)
  if (format !== "json") return refusal(400, `The fake answers no ${String(format)}`, "response_format")
  if (bytes.length > 25 * 1024 * 1024) {
    return refusal(413, `Maximum content size limit (26214400) exceeded (${bytes.length} bytes read)`, null)
  }
  if (!heardFormats.includes(file.name.split(".").at(-1) ?? "")) {
    return refusal(400, `Unrecognized file format. Supported formats: ${JSON.stringify(heardFormats)}`, null)
  }
  if (!heads.some((head) => bytes.subarray(0, 4).equals(head.subarray(0, 4)))) {
    return refusal(400, "The audio file could not be decoded or its format is not supported.", null)
  }
  const markerAt = bytes.indexOf(marker)
  const text = markerAt < 0 ? "(silence)" : bytes.subarray(markerAt + marker.length).toString()
  return {
    text,
    usage:
      model === "whisper-1"
        ? { type: "duration", seconds: 30 }
        : { type: "tokens", input_tokens: 9, output_tokens: 5, total_tokens: 14 }
  }
}

const json = (response: ServerResponse, status: number, body: object, headers: Readonly<Record<string, string>> = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))

const behave = (response: ServerResponse, behavior: AudioBehavior, isSpeech: boolean) => {
  const type = isSpeech ? "audio/mpeg" : "application/json"
  switch (behavior.type) {
    case "refuse":
      json(response, behavior.status, { error: behavior.error }, behavior.headers)
      break
    case "raw":
      response.writeHead(behavior.status ?? 200, { "content-type": behavior.contentType }).end(behavior.body)
      break
    case "hang":
      break
    case "cut":
      response.writeHead(200, { "content-type": type }).write(isSpeech ? "ID3" : `{"text":"`, () => response.destroy())
      break
    case "endless": {
      response.writeHead(200, { "content-type": type })
      const piece = Buffer.alloc(1024 * 1024, "x")
      const go = () => {
        while (!response.destroyed && response.write(piece));
        if (!response.destroyed) response.once("drain", go)
      }
      go()
      break
    }
  }
}

/** Fields of a body, decoded with Node's form parser. */
const fieldsOf = async (type: string, body: Buffer) => {
  if (!type.startsWith("multipart/form-data")) {
    const fields: unknown = JSON.parse(body.toString())
    return { fields: Predicate.isRecord(fields) ? fields : {}, file: null }
  }
  // oxlint-disable-next-line typescript/no-deprecated -- bodies fit in memory
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData()
  const file = form.get("file")
  const fields = Object.fromEntries([...form].map(([name, value]) => [name, nameOf(value)]))
  return { fields, file: file instanceof File ? file : null }
}

const nameOf = (value: File | string) => (typeof value === "string" ? value : `${value.name} (${value.type})`)

/** Starts a fake of OpenAI's audio endpoints over HTTP with configurable failures. */
export const makeFakeOpenAiAudio: Effect.Effect<FakeOpenAiAudio, never, Scope.Scope> = Effect.gen(function* () {
  const received: Array<ReceivedAudioRequest> = []
  const behaviors: Array<AudioBehavior> = []
  let left = 0

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? "/"
    const { authorization } = request.headers
    const { fields, file } = await fieldsOf(request.headers["content-type"] ?? "", await buffer(request))
    received.push({ path, authorization, fields })
    response.once("close", () => {
      if (!response.writableFinished) left += 1
    })
    if (!(authorization ?? "").startsWith(`Bearer ${apiKey}`)) {
      const shown = authorization ?? "nothing"
      return json(response, 401, {
        error: { message: `Incorrect API key provided: ${shown}`, code: "invalid_api_key" }
      })
    }
    const behavior = behaviors.shift()
    if (behavior !== undefined) return behave(response, behavior, path === "/v1/audio/speech")
    if (path === "/v1/audio/speech") {
      const spoken = speak(fields)
      return isRefusal(spoken)
        ? json(response, spoken.status, { error: spoken.error })
        : response.writeHead(200, { "content-type": spoken.type }).end(spoken.audio)
    }
    if (path === "/v1/audio/transcriptions") {
      const transcribed = listen(fields, file, file === null ? Buffer.alloc(0) : Buffer.from(await file.arrayBuffer()))
      return isRefusal(transcribed)
        ? json(response, transcribed.status, { error: transcribed.error })
        : json(response, 200, transcribed)
    }
    return json(response, 404, { error: { message: `Unknown request URL: ${path}` } })
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => json(response, 400, { error: { message: String(error) } }))
  })
  const { origin } = yield* listenLocally(server)
  return {
    baseUrl: `${origin}/v1`,
    apiKey,
    received,
    next: (...added) => behaviors.push(...added),
    left: () => left
  }
})
