import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Chunk, Context, type DateTime, Duration, Effect, Layer, Option, ParseResult, Schema, Stream } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as UnixSocketClient from "../../runtime/UnixSocketClient.ts"
import { type EngineAddress, formatEngineAddress } from "./EngineAddress.ts"
import {
  type EngineError,
  EngineRequestRejected,
  EngineResponseMalformed,
  EngineUnreachable,
  EngineUnresponsive
} from "./EngineErrors.ts"
import * as Models from "./EngineModels.ts"
import { joinLogFrames } from "./LogFrames.ts"

/** Oldest API version with every required member (Docker 20.10). */
const oldestApiVersion = [1, 41] as const

const callTimeout = Duration.seconds(10)
const slowCallTimeout = Duration.seconds(30)
/** Measuring volumes traverses their files. */
const measureTimeout = Duration.minutes(2)
const maximumTextBytes = 16 * 1024 * 1024

type Query = Readonly<Record<string, string | number | boolean>>

interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  readonly path: string
  readonly query?: Query
  readonly body?: HttpBody.HttpBody
  readonly within?: Duration.Duration
}

const get = (path: string, query: Query = {}): Call => ({ method: "GET", path, query })
/** Creates or changes an object, which can be slow on a busy disk. */
const post = (path: string, options: Omit<Call, "method" | "path"> = {}): Call => ({
  method: "POST",
  path,
  within: slowCallTimeout,
  ...options
})
const remove = (path: string, query: Query = {}): Call => ({ method: "DELETE", path, query, within: slowCallTimeout })

const labelFilter = (labels: Readonly<Record<string, string>>) => ({
  label: Object.entries(labels).map(([name, value]) => `${name}=${value}`)
})

/** Reads the same client certificate as the `docker` command. */
const readCertificates = (directory: string, address: string) =>
  Effect.try({
    try: () => ({
      ca: readFileSync(join(directory, "ca.pem")),
      cert: readFileSync(join(directory, "cert.pem")),
      key: readFileSync(join(directory, "key.pem"))
    }),
    catch: (cause) => new EngineUnreachable({ address, reason: `DOCKER_CERT_PATH: ${String(cause)}` })
  })

/** Returns the HTTP client and the origin of an engine: a Unix socket, or TCP with optional client certificates. */
const connectTo = (address: EngineAddress) =>
  Effect.gen(function* () {
    if (address._tag === "Socket")
      return { client: UnixSocketClient.layer, origin: UnixSocketClient.makeSocketEndpoint(address.path) }
    const { certificates, origin } = address
    const options = certificates === null ? {} : yield* readCertificates(certificates, origin)
    return {
      client: Layer.provide(NodeHttpClient.layerWithoutAgent, NodeHttpClient.makeAgentLayer(options)),
      origin
    }
  })

const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if ("code" in error && typeof error.code === "string") return error.code
  return error.cause === undefined ? error.message : causeOf(error.cause)
}

const describeFirstIssue = (error: ParseResult.ParseError): string => {
  const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
  return issue === undefined
    ? "unknown"
    : [issue.path.join("."), issue.message].filter((part) => part !== "").join(": ")
}

/** Client of the required parts of the Docker Engine API, one function per endpoint. Every call has a timeout. */
export const make = (address: EngineAddress) =>
  Effect.gen(function* () {
    const shownAddress = formatEngineAddress(address)
    // Trace headers stay inside of the platform.
    const { client, origin } = yield* connectTo(address)
    const http = Context.get(yield* Layer.build(client), HttpClient.HttpClient).pipe(
      HttpClient.withTracerPropagation(false)
    )

    const open = (prefix: string, call: Call): Effect.Effect<HttpClientResponse.HttpClientResponse, EngineError> => {
      const operation = `${call.method} ${call.path}`
      return HttpClientRequest.make(call.method)(`${origin}${prefix}${call.path}`).pipe(
        HttpClientRequest.setUrlParams(call.query ?? {}),
        call.body === undefined ? (request) => request : HttpClientRequest.setBody(call.body),
        http.execute,
        Effect.mapError((error) => new EngineUnreachable({ address: shownAddress, reason: causeOf(error) })),
        Effect.filterOrElse(
          // 304: the container is already in that state.
          ({ status }) => status < 300 || status === 304,
          (response) =>
            Effect.flatMap(
              response.json.pipe(
                Effect.flatMap(Schema.decodeUnknown(Models.EngineErrorBody)),
                Effect.match({ onSuccess: ({ message }) => message, onFailure: () => "no reason given" })
              ),
              (reason) => new EngineRequestRejected({ operation, status: response.status, reason })
            )
        )
      )
    }

    /** Sends a call and reads the complete response. The timeout applies in uninterruptible regions too. */
    const send = <A>(
      prefix: string,
      call: Call,
      read: (response: HttpClientResponse.HttpClientResponse) => Effect.Effect<A, EngineError>
    ): Effect.Effect<A, EngineError> => {
      const within = call.within ?? callTimeout
      return Effect.interruptible(Effect.flatMap(open(prefix, call), read)).pipe(
        Effect.timeoutFail({
          duration: within,
          onTimeout: () =>
            new EngineUnresponsive({ address: shownAddress, operation: `${call.method} ${call.path}`, within })
        }),
        Effect.withTracerEnabled(false)
      )
    }

    const readJson =
      <A, I>(call: Call, schema: Schema.Schema<A, I>) =>
      (response: HttpClientResponse.HttpClientResponse): Effect.Effect<A, EngineError> =>
        response.text.pipe(
          Effect.mapError((error) => new EngineUnreachable({ address: shownAddress, reason: causeOf(error) })),
          Effect.flatMap((text) =>
            Effect.mapError(
              Schema.decode(Schema.parseJson(schema))(text),
              (error) =>
                new EngineResponseMalformed({
                  operation: `${call.method} ${call.path}`,
                  reason: describeFirstIssue(error)
                })
            )
          )
        )

    const readChunks = ({ stream }: HttpClientResponse.HttpClientResponse): Stream.Stream<Uint8Array, EngineError> =>
      Stream.mapError(stream, (error) => new EngineUnreachable({ address: shownAddress, reason: causeOf(error) }))

    const readBytes = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<Uint8Array, EngineError> =>
      readChunks(response).pipe(
        Stream.mapAccum(0, (length, part) => [length + part.length, { length: length + part.length, part }]),
        Stream.takeWhile(({ length }) => length <= maximumTextBytes),
        Stream.map(({ part }) => part),
        Stream.runCollect,
        Effect.map((parts) => Buffer.concat(Chunk.toReadonlyArray(parts)))
      )

    const unversioned = get("/version")
    const version = yield* send("", unversioned, readJson(unversioned, Models.EngineVersion))
    const [major = 0, minor = 0] = version.ApiVersion.split(".").map(Number)
    if (major !== oldestApiVersion[0] || minor < oldestApiVersion[1])
      return yield* new EngineResponseMalformed({
        operation: "GET /version",
        reason: `its API version is ${version.ApiVersion}; update Docker to 20.10 or later`
      })
    const prefix = `/v${oldestApiVersion.join(".")}`

    const json = <A, I>(schema: Schema.Schema<A, I>, call: Call) => send(prefix, call, readJson(call, schema))
    const done = (call: Call) => send(prefix, call, () => Effect.void)
    const body = <A, I>(schema: Schema.Schema<A, I>, value: A): HttpBody.HttpBody =>
      HttpBody.unsafeJson(Schema.encodeSync(schema)(value))

    /** None for a status of 404. */
    const optional = <A>(effect: Effect.Effect<A, EngineError>): Effect.Effect<Option.Option<A>, EngineError> =>
      Effect.asSome(effect).pipe(
        Effect.catchIf(
          (error) => error._tag === "EngineRequestRejected" && error.status === 404,
          () => Effect.succeedNone
        )
      )

    const container = (id: string) => `/containers/${encodeURIComponent(id)}`

    return {
      info: json(Models.EngineInfo, get("/info")),
      inspectImage: (name: string) =>
        optional(json(Models.ImageInspection, get(`/images/${encodeURIComponent(name)}/json`))),

      /** Lists all networks of a name; concurrent creations can make two. */
      listNetworks: (name: string) =>
        Effect.map(
          json(Schema.Array(Models.NetworkInspection), get("/networks", { filters: JSON.stringify({ name: [name] }) })),
          // The filter also matches parts of names.
          (found) => found.filter(({ Name }) => Name === name)
        ),
      inspectNetwork: (id: string) =>
        optional(json(Models.NetworkInspection, get(`/networks/${encodeURIComponent(id)}`))),
      createNetwork: (network: Models.NetworkCreation) =>
        done(post("/networks/create", { body: body(Models.NetworkCreation, network) })),
      /** Idempotent. Rejected with 403 while containers use the network. */
      removeNetwork: (id: string) => Effect.asVoid(optional(done(remove(`/networks/${encodeURIComponent(id)}`)))),

      inspectVolume: (name: string) =>
        optional(json(Models.VolumeInspection, get(`/volumes/${encodeURIComponent(name)}`))),
      listVolumes: (labels: Readonly<Record<string, string>>) =>
        Effect.map(
          json(Models.VolumeList, get("/volumes", { filters: JSON.stringify(labelFilter(labels)) })),
          ({ Volumes }) => Volumes ?? []
        ),
      createVolume: (name: string, labels: Readonly<Record<string, string>>) =>
        json(
          Models.VolumeInspection,
          post("/volumes/create", {
            body: body(Models.VolumeCreation, { Name: name, Labels: labels }),
            within: callTimeout
          })
        ),
      /** Idempotent. */
      removeVolume: (name: string) => Effect.asVoid(optional(done(remove(`/volumes/${encodeURIComponent(name)}`)))),
      /** Returns the bytes of all volumes, by name. */
      measureVolumes: Effect.map(
        // The query is ignored before API 1.42.
        json(Models.DiskUsage, { ...get("/system/df", { type: "volume" }), within: measureTimeout }),
        ({ Volumes }) => new Map((Volumes ?? []).map(({ Name, UsageData }) => [Name, UsageData?.Size ?? 0]))
      ),

      listContainers: (labels: Readonly<Record<string, string>>) =>
        json(
          Schema.Array(Models.ContainerSummary),
          get("/containers/json", { all: true, filters: JSON.stringify(labelFilter(labels)) })
        ),
      inspectContainer: (id: string) => optional(json(Models.ContainerInspection, get(`${container(id)}/json`))),
      createContainer: (name: string, creation: Models.ContainerCreation) =>
        Effect.map(
          json(
            Models.ContainerCreated,
            post("/containers/create", { query: { name }, body: body(Models.ContainerCreation, creation) })
          ),
          ({ Id }) => Id
        ),
      /** Idempotent. */
      startContainer: (id: string) => done(post(`${container(id)}/start`)),
      /** SIGTERM, then SIGKILL after the grace. Idempotent. */
      stopContainer: (id: string, grace: Duration.Duration) =>
        Effect.asVoid(
          optional(
            done(
              post(`${container(id)}/stop`, {
                query: { t: Math.ceil(Duration.toSeconds(grace)) },
                within: Duration.sum(grace, slowCallTimeout)
              })
            )
          )
        ),
      /** Kills the container first. Idempotent. Named volumes stay. */
      removeContainer: (id: string) => Effect.asVoid(optional(done(remove(container(id), { force: true })))),
      renameContainer: (id: string, name: string) =>
        done(post(`${container(id)}/rename`, { query: { name }, within: callTimeout })),
      /** Returns the exit code after the end of the container. */
      waitForExit: (id: string, within: Duration.Duration) =>
        Effect.map(
          json(Models.ContainerExited, post(`${container(id)}/wait`, { within })),
          ({ StatusCode }) => StatusCode
        ),
      /** Extracts a tar archive into a directory of a container that may be stopped. */
      putArchive: (id: string, path: string, archive: Uint8Array) =>
        done({
          method: "PUT",
          path: `${container(id)}/archive`,
          query: { path },
          body: HttpBody.uint8Array(archive, "application/x-tar")
        }),
      /** Reads the log since a time in seconds; none for an absent container. */
      readLog: (id: string, since = 0) =>
        optional(
          Effect.map(
            send(prefix, get(`${container(id)}/logs`, { stdout: true, stderr: true, since }), readBytes),
            joinLogFrames
          )
        ),
      /** Streams the log since a time. Ends with the container or the connection; without a timeout. */
      followLog: (id: string, since: DateTime.Utc): Stream.Stream<Uint8Array, EngineError> =>
        open(
          prefix,
          get(`${container(id)}/logs`, {
            stdout: true,
            stderr: true,
            follow: true,
            since: Math.floor(since.epochMillis / 1000)
          })
        ).pipe(Effect.map(readChunks), Stream.unwrap),
      /** Reads one sample; none for an absent or stopped container. */
      readStats: (id: string) =>
        optional(json(Models.ContainerStats, get(`${container(id)}/stats`, { stream: false, "one-shot": true }))),
      /**
       * Emits none at the start of the subscription, then the ends of containers. Ends with the connection; without a
       * timeout.
       */
      containerEnds: (
        labels: Readonly<Record<string, string>>
      ): Stream.Stream<Option.Option<Models.EngineEvent>, EngineError> =>
        open(
          prefix,
          get("/events", { filters: JSON.stringify({ type: ["container"], event: ["die"], ...labelFilter(labels) }) })
        ).pipe(
          Effect.map((response) =>
            readChunks(response).pipe(
              Stream.decodeText(),
              Stream.splitLines,
              Stream.filterMap(Schema.decodeOption(Schema.parseJson(Models.EngineEvent))),
              Stream.map(Option.some),
              (events) => Stream.concat(Stream.succeed(Option.none()), events)
            )
          ),
          Stream.unwrap
        )
    }
  })

export type DockerEngine = Effect.Effect.Success<ReturnType<typeof make>>
