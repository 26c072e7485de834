import { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import { InstanceSettings } from "@berth/domain/instances/InstanceSettings"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { join, resolve } from "node:path"
import type { Settings } from "../configuration/Settings.ts"
import { ensureSecret } from "../crypto/GeneratedKeys.ts"
import { prepareDataDirectory } from "../files/DataDirectory.ts"
import * as DockerEngine from "../instance-drivers/docker/DockerEngine.ts"
import * as DockerInstanceDriver from "../instance-drivers/docker/DockerInstanceDriver.ts"
import { closeHostPorts } from "../instance-drivers/docker/HostFirewall.ts"
import { ensureNetwork } from "../instance-drivers/docker/InstanceNetwork.ts"
import * as ClusterConnection from "../instance-drivers/kubernetes/ClusterConnection.ts"
import * as KubernetesInstanceDriver from "../instance-drivers/kubernetes/KubernetesInstanceDriver.ts"
import { permissionFlagsOfVersion } from "../instance-drivers/NodeFlags.ts"
import * as ProcessInstanceDriver from "../instance-drivers/process/ProcessInstanceDriver.ts"
import { toLocalAddress } from "../net/ListenHosts.ts"
import { findBindablePort } from "../net/PortProbe.ts"
import { ProgramMisconfigured } from "../process/ProgramRunner.ts"
import * as BerthAgentRuntime from "../runtime/BerthAgentRuntime.ts"
import * as UnixSocketClient from "../runtime/UnixSocketClient.ts"
import { randomBytes } from "node:crypto"

/** Address of the separate listener for runtime routes; none if instances use the backend's listener. */
export class RuntimeListenerAddress extends Context.Tag("@berth/RuntimeListenerAddress")<
  RuntimeListenerAddress,
  Option.Option<{ readonly host: string; readonly port: number }>
>() {}

const toProgramMisconfigured = ({ message }: { readonly message: string }) =>
  new ProgramMisconfigured({ reason: message })

const instancesDirectory = (settings: Settings) => join(resolve(settings.dataDir), "instances")
const onClose = (settings: Settings) => (settings.supervised ? "stop" : "leave")

/** Child processes of this host, which run the runtime at `bundle` and use the backend's listener. */
const processes = (settings: Settings, bundle: string) => {
  const { backendHost, backendPort } = settings.addresses
  // Instances run on this host, so they use the listening address instead of BACKEND_URL.
  const listening = `http://${toLocalAddress(backendHost)}:${backendPort}`
  const driver = ProcessInstanceDriver.layer({
    directory: instancesDirectory(settings),
    bundle,
    onClose: onClose(settings),
    uids: Option.getOrUndefined(settings.instanceUids),
    requiresAccounts: settings.environment === "production"
  })
  return Layer.mergeAll(
    Layer.catchAll(driver, (error) =>
      Layer.fail(error._tag === "InstanceAccountsUnavailable" ? toProgramMisconfigured(error) : error)
    ),
    Layer.succeed(InstanceSettings, {
      backendUrl: Option.match(settings.runtimeBackendUrl, { onNone: () => listening, onSome: ({ origin }) => origin }),
      idleAfter: settings.instanceIdle
    }),
    Layer.succeed(RuntimeListenerAddress, Option.none())
  )
}

const generateInstallation = () => Redacted.make(randomBytes(6).toString("hex"))

/** Containers, whose network permits only a separate listener for the runtime routes. */
const containers = (settings: Settings) =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const engine = yield* DockerEngine.make(settings.docker.address)
      const network = yield* ensureNetwork(engine, settings.docker.network)
      const url = Option.getOrElse(
        settings.runtimeBackendUrl,
        () => new URL(`http://${network.gateway}:${settings.addresses.backendPort}`)
      )
      const address = { host: url.hostname, port: Number(url.port === "" ? 80 : url.port) }
      // A bridge without containers is not listed as an interface, so the address is tested.
      if (Option.isNone(yield* findBindablePort(0, address.host)))
        return yield* new ProgramMisconfigured({
          reason: `Instances would call the backend at ${address.host}, which is not an address of this machine. Run the backend on the host of the Docker Engine (in a container with host networking), or set RUNTIME_BACKEND_URL.`
        })
      yield* closeHostPorts({ bridge: network.bridge, ...address })
      const installation = yield* ensureSecret(
        join(resolve(settings.dataDir), "keys"),
        "installation",
        generateInstallation
      )
      const driver = yield* DockerInstanceDriver.make({
        engine,
        installation: Redacted.value(installation),
        network: network.name,
        image: settings.runtimeImage,
        directory: instancesDirectory(settings),
        onClose: onClose(settings)
      })
      return Context.make(InstanceDriver, driver).pipe(
        Context.add(InstanceSettings, { backendUrl: url.origin, idleAfter: settings.instanceIdle }),
        Context.add(RuntimeListenerAddress, Option.some(address))
      )
    }).pipe(Effect.mapError((error) => (error._tag === "ProgramMisconfigured" ? error : toProgramMisconfigured(error))))
  )

/** Version in the base image of deploy/runtime/Dockerfile, which the API server does not report. */
export const imageNodeVersion = "24.0.0"

/** Pods, whose network policy permits only a separate listener for the runtime routes. */
const pods = (settings: Settings) =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const url = yield* Effect.mapError(
        settings.runtimeBackendUrl,
        () => new ProgramMisconfigured({ reason: "RUNTIME_BACKEND_URL is missing." })
      )
      const driver = yield* KubernetesInstanceDriver.make({
        connection: yield* ClusterConnection.make(settings.kubernetes),
        backendUrl: url,
        image: settings.runtimeImage,
        permission: permissionFlagsOfVersion(imageNodeVersion),
        directory: instancesDirectory(settings),
        onClose: onClose(settings)
      })
      // All addresses of the backend's pod: the policies of pods and namespace permit only this port to instances.
      const address = { host: "0.0.0.0", port: Number(url.port === "" ? 80 : url.port) }
      return Context.make(InstanceDriver, driver).pipe(
        Context.add(InstanceSettings, { backendUrl: url.origin, idleAfter: settings.instanceIdle }),
        Context.add(RuntimeListenerAddress, Option.some(address))
      )
    }).pipe(Effect.mapError((error) => (error._tag === "ProgramMisconfigured" ? error : toProgramMisconfigured(error))))
  )

const makeInstances = (settings: Settings, bundle: string) => {
  switch (settings.agentRuntime) {
    case "process":
      return processes(settings, bundle)
    case "docker":
      return containers(settings)
    case "kubernetes":
      return pods(settings)
  }
}

/** Instances by `AGENT_RUNTIME`. */
export const fromSettings = (settings: Settings, bundle: string) =>
  Layer.merge(
    prepareDataDirectory(resolve(settings.dataDir)).pipe(
      Effect.mapError(toProgramMisconfigured),
      Effect.as(makeInstances(settings, bundle)),
      Layer.unwrapEffect
    ),
    BerthAgentRuntime.layer
  ).pipe(Layer.provide(UnixSocketClient.layer))
