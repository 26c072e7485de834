import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import type { KubeConfig } from "@kubernetes/client-node"
import { Effect, Option } from "effect"
import { Agent as HttpAgent } from "node:http"
import { Agent as HttpsAgent, type RequestOptions } from "node:https"
import { delimiter } from "node:path"
import { ClusterConfigurationInvalid, ClusterUnreachable } from "./ClusterErrors.ts"

interface ClusterConnectionOptions {
  /** `KUBECONFIG`. None: the user's file, else the pod's service account. */
  readonly kubeconfig: Option.Option<string>
  /** `KUBE_NAMESPACE`. None: the namespace of the context or of the pod, else `default`. */
  readonly namespace: Option.Option<string>
}

export interface ClusterConnection {
  /** Origin of the API server. */
  readonly address: string
  readonly namespace: string
  readonly execute: (
    request: HttpClientRequest.HttpClientRequest
  ) => Effect.Effect<HttpClientResponse.HttpClientResponse, ClusterUnreachable>
}

const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if ("code" in error && typeof error.code === "string") return error.code
  return error.cause === undefined ? error.message : causeOf(error.cause)
}

const toInvalid = (cause: unknown) =>
  new ClusterConfigurationInvalid({ reason: cause instanceof Error ? cause.message : String(cause) })

/** Loaded on demand: the library requires half a second and 80 MB, which other drivers must not pay. */
const loadConfiguration = (kubeconfig: Option.Option<string>) =>
  Effect.tryPromise({
    try: async () => {
      const { KubeConfig } = await import("@kubernetes/client-node")
      const configuration = new KubeConfig()
      if (Option.isNone(kubeconfig)) configuration.loadFromDefault()
      else {
        const [first = "", ...others] = kubeconfig.value.split(delimiter).filter((file) => file !== "")
        configuration.loadFromFile(first)
        for (const file of others) {
          const merged = new KubeConfig()
          merged.loadFromFile(file)
          configuration.mergeConfig(merged)
        }
      }
      return configuration
    },
    catch: toInvalid
  })

/** Returns agent and headers of one call; recreated for each call, since credentials rotate. */
const authenticate = async (configuration: KubeConfig) => {
  const options: RequestOptions = {}
  await configuration.applyToHTTPSOptions(options)
  const { agent, auth, headers } = options
  const basic = typeof auth === "string" ? { authorization: `Basic ${Buffer.from(auth).toString("base64")}` } : {}
  const own = Object.entries({ ...headers }).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : []
  )
  return { agent, headers: { ...Object.fromEntries(own), ...basic } }
}

/** Connects to the API server of a cluster with the same credentials as `kubectl`. */
export const make = Effect.fnUntraced(function* ({ kubeconfig, namespace }: ClusterConnectionOptions) {
  const configuration = yield* loadConfiguration(kubeconfig)
  const cluster = configuration.getCurrentCluster()
  if (cluster === null || configuration.getCurrentUser() === null)
    return yield* new ClusterConfigurationInvalid({ reason: "it has no current context with a cluster and a user" })
  yield* Effect.tryPromise({ try: () => authenticate(configuration), catch: toInvalid })
  const address = cluster.server.replace(/\/+$/, "")
  const agents = yield* NodeHttpClient.makeAgent()

  const connection: ClusterConnection = {
    address,
    namespace: Option.getOrElse(
      namespace,
      () => configuration.getContextObject(configuration.getCurrentContext())?.namespace ?? "default"
    ),
    execute: (request) =>
      Effect.gen(function* () {
        const { agent, headers } = yield* Effect.tryPromise(() => authenticate(configuration))
        const client = yield* Effect.provideService(NodeHttpClient.make, NodeHttpClient.HttpAgent, {
          ...agents,
          ...(agent instanceof HttpsAgent ? { https: agent } : agent instanceof HttpAgent ? { http: agent } : {})
        })
        return yield* request.pipe(
          HttpClientRequest.prependUrl(address),
          HttpClientRequest.setHeaders(headers),
          // Trace headers stay inside of the platform.
          HttpClient.withTracerPropagation(client, false).execute
        )
      }).pipe(Effect.mapError((error) => new ClusterUnreachable({ address, reason: causeOf(error) })))
  }
  return connection
})
