import * as HttpBody from "@effect/platform/HttpBody"
import { type DateTime, Duration, Effect, Option, Schema, Stream } from "effect"
import type { EngineAddress } from "./EngineAddress.ts"
import type { EngineError } from "./EngineErrors.ts"
import * as Models from "./EngineModels.ts"
import { callTimeout, getCall, makeEngineTransport, postCall, removeCall, slowCallTimeout } from "./EngineTransport.ts"
import { joinLogFrames } from "./LogFrames.ts"

/** Measuring volumes traverses their files. */
const measureTimeout = Duration.minutes(2)

const labelFilter = (labels: Readonly<Record<string, string>>) => ({
  label: Object.entries(labels).map(([name, value]) => `${name}=${value}`)
})

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

/** Client of the required parts of the Docker Engine API, one function per endpoint. Every call has a timeout. */
export const make = (address: EngineAddress) =>
  Effect.map(makeEngineTransport(address), ({ bytes, done, json, openStream }) => ({
    info: json(Models.EngineInfo, getCall("/info")),
    inspectImage: (name: string) =>
      optional(json(Models.ImageInspection, getCall(`/images/${encodeURIComponent(name)}/json`))),

    /** Lists all networks of a name; concurrent creations can make two. */
    listNetworks: (name: string) =>
      Effect.map(
        json(
          Schema.Array(Models.NetworkInspection),
          getCall("/networks", { filters: JSON.stringify({ name: [name] }) })
        ),
        // The filter also matches parts of names.
        (networks) => networks.filter(({ Name }) => Name === name)
      ),
    inspectNetwork: (id: string) =>
      optional(json(Models.NetworkInspection, getCall(`/networks/${encodeURIComponent(id)}`))),
    createNetwork: (network: Models.NetworkCreation) =>
      done(postCall("/networks/create", { body: body(Models.NetworkCreation, network) })),
    /** Idempotent. Rejected with 403 while containers use the network. */
    removeNetwork: (id: string) => Effect.asVoid(optional(done(removeCall(`/networks/${encodeURIComponent(id)}`)))),

    inspectVolume: (name: string) =>
      optional(json(Models.VolumeInspection, getCall(`/volumes/${encodeURIComponent(name)}`))),
    listVolumes: (labels: Readonly<Record<string, string>>) =>
      Effect.map(
        json(Models.VolumeList, getCall("/volumes", { filters: JSON.stringify(labelFilter(labels)) })),
        ({ Volumes }) => Volumes ?? []
      ),
    createVolume: (name: string, labels: Readonly<Record<string, string>>) =>
      json(
        Models.VolumeInspection,
        postCall("/volumes/create", {
          body: body(Models.VolumeCreation, { Name: name, Labels: labels }),
          within: callTimeout
        })
      ),
    /** Idempotent. */
    removeVolume: (name: string) => Effect.asVoid(optional(done(removeCall(`/volumes/${encodeURIComponent(name)}`)))),
    /** Returns the bytes of all volumes, by name. */
    measureVolumes: Effect.map(
      // The query is ignored before API 1.42.
      json(Models.DiskUsage, { ...getCall("/system/df", { type: "volume" }), within: measureTimeout }),
      ({ Volumes }) => new Map((Volumes ?? []).map(({ Name, UsageData }) => [Name, UsageData?.Size ?? 0]))
    ),

    listContainers: (labels: Readonly<Record<string, string>>) =>
      json(
        Schema.Array(Models.ContainerSummary),
        getCall("/containers/json", { all: true, filters: JSON.stringify(labelFilter(labels)) })
      ),
    inspectContainer: (id: string) => optional(json(Models.ContainerInspection, getCall(`${container(id)}/json`))),
    createContainer: (name: string, creation: Models.ContainerCreation) =>
      Effect.map(
        json(
          Models.ContainerCreated,
          postCall("/containers/create", { query: { name }, body: body(Models.ContainerCreation, creation) })
        ),
        ({ Id }) => Id
      ),
    /** Idempotent. */
    startContainer: (id: string) => done(postCall(`${container(id)}/start`)),
    /** SIGTERM, then SIGKILL after the grace. Idempotent. */
    stopContainer: (id: string, grace: Duration.Duration) =>
      Effect.asVoid(
        optional(
          done(
            postCall(`${container(id)}/stop`, {
              query: { t: Math.ceil(Duration.toSeconds(grace)) },
              within: Duration.sum(grace, slowCallTimeout)
            })
          )
        )
      ),
    /** Kills the container first. Idempotent. Named volumes stay. */
    removeContainer: (id: string) => Effect.asVoid(optional(done(removeCall(container(id), { force: true })))),
    renameContainer: (id: string, name: string) =>
      done(postCall(`${container(id)}/rename`, { query: { name }, within: callTimeout })),
    /** Returns the exit code after the end of the container. */
    waitForExit: (id: string, within: Duration.Duration) =>
      Effect.map(
        json(Models.ContainerExited, postCall(`${container(id)}/wait`, { within })),
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
        Effect.map(bytes(getCall(`${container(id)}/logs`, { stdout: true, stderr: true, since })), joinLogFrames)
      ),
    /** Streams the log since a time. Ends with the container or the connection; without a timeout. */
    followLog: (id: string, since: DateTime.Utc): Stream.Stream<Uint8Array, EngineError> =>
      Stream.unwrap(
        openStream(
          getCall(`${container(id)}/logs`, {
            stdout: true,
            stderr: true,
            follow: true,
            since: Math.floor(since.epochMillis / 1000)
          })
        )
      ),
    /** Reads one sample; none for an absent or stopped container. */
    readStats: (id: string) =>
      optional(json(Models.ContainerStats, getCall(`${container(id)}/stats`, { stream: false, "one-shot": true }))),
    /**
     * Emits none at the start of the subscription, then the ends of containers. Ends with the connection; without a
     * timeout.
     */
    containerEnds: (
      labels: Readonly<Record<string, string>>
    ): Stream.Stream<Option.Option<Models.EngineEvent>, EngineError> =>
      openStream(
        getCall("/events", { filters: JSON.stringify({ type: ["container"], event: ["die"], ...labelFilter(labels) }) })
      ).pipe(
        Effect.map((parts) =>
          parts.pipe(
            Stream.decodeText(),
            Stream.splitLines,
            Stream.filterMap(Schema.decodeOption(Schema.parseJson(Models.EngineEvent))),
            Stream.map(Option.some),
            (events) => Stream.concat(Stream.succeed(Option.none()), events)
          )
        ),
        Stream.unwrap
      )
  }))

export type DockerEngine = Effect.Effect.Success<ReturnType<typeof make>>
