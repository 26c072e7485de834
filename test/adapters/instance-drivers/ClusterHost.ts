import type { UserId } from "@berth/domain/shared/UserId"
import * as ClusterClient from "@berth/infra/instance-drivers/kubernetes/ClusterClient"
import * as ClusterConnection from "@berth/infra/instance-drivers/kubernetes/ClusterConnection"
import type { Pod } from "@berth/infra/instance-drivers/kubernetes/ClusterModels"
import { makeTaskPod, taskContainerName } from "@berth/infra/instance-drivers/kubernetes/InstanceManifests"
import * as KubernetesInstanceDriver from "@berth/infra/instance-drivers/kubernetes/KubernetesInstanceDriver"
import type { PodMonitorIntervals } from "@berth/infra/instance-drivers/kubernetes/PodMonitor"
import { detectPermissionFlags, permissionFlagsOfVersion } from "@berth/infra/instance-drivers/NodeFlags"
import { instanceHome } from "@berth/infra/instance-drivers/RuntimeImage"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { imageNodeVersion } from "@berth/infra/wiring/InstancesWiring"
import { Effect, Logger, Option, Schema } from "effect"
import { tmpdir } from "node:os"
import { eventually } from "../../support/Eventually.ts"
import { imageOf, namesOf, namespaceOf, testCluster } from "./KubernetesHost.ts"

/*
 * A cluster whose nodes are inaccessible: that of KUBECONFIG with TEST_KUBERNETES=real, or the fake API server with
 * TEST_KUBERNETES=fake. Neither replaces the hosts of `npm test`.
 */

const selected = process.env["TEST_KUBERNETES"] ?? ""
export const isSelected = selected !== ""
export const isReal = selected === "real"

const setting = (name: string) => Option.filter(Option.fromNullable(process.env[name]), (value) => value !== "")
const requireSetting = (name: string) => Option.getOrThrowWith(setting(name), () => new Error(`Set ${name}.`))

/** The images of a real cluster; the second is newer. */
export const realImages = () => {
  const image = requireSetting("RUNTIME_IMAGE")
  return { image, newerImage: Option.getOrElse(setting("RUNTIME_IMAGE_NEWER"), () => image) }
}

/** A namespace of the fake cluster per directory, or the one namespace of a real cluster. */
export const connectCluster = (directory: string) =>
  Effect.gen(function* () {
    if (isReal)
      return yield* ClusterConnection.make({
        kubeconfig: setting("KUBECONFIG"),
        namespace: Option.some(requireSetting("KUBE_NAMESPACE"))
      })
    const { fake, kubeconfig } = yield* Effect.promise(testCluster)
    const namespace = namespaceOf(directory)
    fake.createNamespace(namespace)
    return yield* ClusterConnection.make({ kubeconfig: Option.some(kubeconfig), namespace: Option.some(namespace) })
  })

export const permission = isReal
  ? permissionFlagsOfVersion(imageNodeVersion)
  : detectPermissionFlags(process.allowedNodeEnvironmentFlags)

interface ClusterDriverOptions {
  readonly directory: string
  readonly program: string
  readonly onClose: "leave" | "stop"
  readonly intervals?: Partial<PodMonitorIntervals>
}

export const clusterDriver = ({ directory, intervals, onClose, program }: ClusterDriverOptions) =>
  Effect.gen(function* () {
    return yield* KubernetesInstanceDriver.make({
      connection: yield* connectCluster(directory),
      backendUrl: new URL("http://10.255.255.1:4001"),
      image: isReal ? realImages().image : imageOf(program),
      permission,
      directory,
      onClose,
      ...(intervals === undefined ? {} : { intervals })
    })
  }).pipe(Effect.provide(UnixSocketClient.layer))

const withClient = <A, E>(directory: string, work: (client: ClusterClient.ClusterClient) => Effect.Effect<A, E>) =>
  Effect.orDie(
    Effect.scoped(Effect.flatMap(connectCluster(directory), (connection) => work(ClusterClient.make(connection))))
  )

/** A run of a container: the owner's pod and the container's id. */
interface Run {
  readonly directory: string
  readonly owner: UserId
  readonly containerId: string
}
/** A run is identified by its position. */
const runs: Array<Run> = []

const containerIdOf = ({ status }: Pod): string => status.containerStatuses.map(({ containerID }) => containerID).join()

const findPod = (directory: string, owner: UserId) =>
  withClient(directory, (client) => client.getPod(namesOf(directory, owner).pod))

export const findRun = (directory: string, owner: UserId): Effect.Effect<number> =>
  Effect.map(findPod(directory, owner), (pod) => {
    const containerId = containerIdOf(Option.getOrThrow(pod))
    const known = runs.findIndex((run) => run.containerId === containerId)
    return known < 0 ? runs.push({ directory, owner, containerId }) - 1 : known
  })

export const isRunning = (identity: number): Effect.Effect<boolean> =>
  Effect.flatMap(Effect.fromNullable(runs[identity]), ({ containerId, directory, owner }) =>
    Effect.map(
      findPod(directory, owner),
      Option.exists((pod) => containerIdOf(pod) === containerId && pod.status.phase === "Running")
    )
  ).pipe(Effect.orDie)

export const deletePod = (identity: number): Effect.Effect<void> =>
  Effect.flatMap(Effect.fromNullable(runs[identity]), ({ directory, owner }) =>
    withClient(directory, (client) => client.remove("pods", namesOf(directory, owner).pod))
  ).pipe(Effect.orDie)

export const hasClaim = (directory: string, owner: UserId): Effect.Effect<boolean> =>
  withClient(directory, (client) => Effect.map(client.getVolumeClaim(namesOf(directory, owner).name), Option.isSome))

/**
 * Runs JavaScript in the instance's container, with the path of its directory as the first argument. Returns the
 * output.
 */
const runScript = (directory: string, owner: UserId, script: string, ...more: ReadonlyArray<string>) =>
  withClient(
    directory,
    Effect.fnUntraced(function* (client) {
      const names = namesOf(directory, owner)
      const task = `${names.name}-test`
      const [set, pod] = yield* Effect.all([client.getStatefulSet(names.name), client.getPod(names.pod)])
      const image = Option.getOrThrow(set).spec.template.spec.containers[0]?.image ?? ""
      const command = ["node", "-e", script, instanceHome, ...more]
      yield* client.createPod(
        makeTaskPod({ ...names, task }, { namespace: client.namespace, image, command, isRunning: Option.isSome(pod) })
      )
      const phase = Effect.map(
        client.getPod(task),
        Option.match({ onNone: () => "", onSome: ({ status }) => status.phase })
      )
      yield* eventually(phase, (now) => now === "Succeeded" || now === "Failed", { description: `an end of ${task}` })
      const log = Option.getOrElse(yield* client.readLog(task, taskContainerName), () => "")
      yield* client.remove("pods", task)
      yield* eventually(client.getPod(task), Option.isNone, { description: `the removal of ${task}` })
      return log
    })
  )

const writing = `
const { mkdirSync, writeFileSync } = require("node:fs")
const { dirname, join } = require("node:path")
const [, home, path, text] = process.argv
mkdirSync(dirname(join(home, path)), { recursive: true })
writeFileSync(join(home, path), text)
console.log("written")`

export const writeFile = (directory: string, owner: UserId, path: string, text: string) =>
  Effect.filterOrDieMessage(
    runScript(directory, owner, writing, path, text),
    (log) => log.trim() === "written",
    `${path} was not written`
  ).pipe(Effect.asVoid)

const reading = `
const { existsSync, readFileSync } = require("node:fs")
const file = process.argv[1] + "/" + process.argv[2]
console.log(JSON.stringify(existsSync(file) ? readFileSync(file, "utf8") : null))`

const decodeText = Schema.decodeUnknown(Schema.parseJson(Schema.NullOr(Schema.String)))

export const readFile = (directory: string, owner: UserId, path: string) =>
  runScript(directory, owner, reading, path).pipe(
    Effect.flatMap(decodeText),
    Effect.map(Option.fromNullable),
    Effect.orDie
  )

/** Removes the instances from the namespace that all tests of a real cluster share. */
export const removeInstances = (owners: ReadonlyArray<UserId>): Promise<void> =>
  isReal
    ? Effect.gen(function* () {
        const driver = yield* clusterDriver({
          directory: `${tmpdir()}/berth-test-cluster`,
          program: "",
          onClose: "stop"
        })
        yield* Effect.forEach(owners, driver.remove, { concurrency: 2 })
      }).pipe(Effect.scoped, Effect.provide(Logger.remove(Logger.defaultLogger)), Effect.asVoid, Effect.runPromise)
    : Promise.resolve()
