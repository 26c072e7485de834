import type { UserId } from "@berth/domain/shared/UserId"
import * as ClusterConnection from "@berth/infra/instance-drivers/kubernetes/ClusterConnection"
import { makePodNames } from "@berth/infra/instance-drivers/kubernetes/PodNames"
import * as KubernetesInstanceDriver from "@berth/infra/instance-drivers/kubernetes/KubernetesInstanceDriver"
import type { PodMonitorIntervals } from "@berth/infra/instance-drivers/kubernetes/PodMonitor"
import { detectPermissionFlags } from "@berth/infra/instance-drivers/NodeFlags"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { type Duration, Effect, Exit, Option, Scope } from "effect"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseAllDocuments } from "yaml"
import { makeFakeKubernetes, type Rights } from "../../fakes/kubernetes/FakeKubernetes.ts"
import { type JsonObject, objectsAt, textAt } from "../../fakes/kubernetes/Json.ts"
import { listenLocally } from "../../support/LocalServer.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"

const roleFile = fileURLToPath(new URL("../../../deploy/kubernetes/rbac.yaml", import.meta.url))

/** The rules of the backend's Role in deploy/kubernetes. */
export const readRole = (): ReadonlyArray<JsonObject> =>
  parseAllDocuments(readFileSync(roleFile, "utf8")).flatMap((document) => {
    const object: unknown = document.toJS()
    return textAt(object, "kind") === "Role" ? objectsAt(object, "rules") : []
  })

const programs = new Map<string, string>()

/** The name of an image that runs a program, with a distinct digest. */
export const imageOf = (program: string): string => {
  const image = `registry.example.com/berth-runtime@sha256:${createHash("sha256").update(program).digest("hex")}`
  programs.set(image, program)
  return image
}

/** Drivers of one directory share a namespace. */
export const namespaceOf = (directory: string): string =>
  `berth-${createHash("sha256").update(directory).digest("hex").slice(0, 12)}`

const makeKubeconfig = (address: string, certificate: string, token: string) => `apiVersion: v1
kind: Config
current-context: fake
contexts: [{ name: fake, context: { cluster: fake, user: ${token} } }]
clusters: [{ name: fake, cluster: { server: "${address}", certificate-authority-data: ${Buffer.from(certificate).toString("base64")} } }]
users: [{ name: ${token}, user: { token: ${token} } }]
`

/** A fake cluster with the kubeconfig files of the backend and an administrator. */
export const openTestCluster = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const rights = new Map<string, Rights>([
    ["backend", readRole()],
    ["administrator", "all"],
    ["stranger", []]
  ])
  const fake = makeFakeKubernetes({ directory, rights, programOf: (image) => programs.get(image) })
  yield* Effect.addFinalizer(() => Effect.promise(fake.close))
  const { port } = yield* listenLocally(fake.server)
  const origin = `https://127.0.0.1:${port}`
  const writeConfig = (token: string) =>
    Effect.promise(async () => {
      const file = join(directory, `${token}.kubeconfig`)
      await writeFile(file, makeKubeconfig(origin, fake.certificate, token))
      return file
    })
  return {
    fake,
    origin,
    kubeconfig: yield* writeConfig("backend"),
    administrator: yield* writeConfig("administrator"),
    stranger: yield* writeConfig("stranger")
  }
})
export type TestCluster = Effect.Effect.Success<typeof openTestCluster>

let currentCluster: TestCluster | undefined
let opened: { readonly cluster: Promise<TestCluster>; readonly scope: Scope.CloseableScope } | undefined

/** The cluster of a test file, opened by the first test. */
export const testCluster = (): Promise<TestCluster> => {
  if (opened === undefined) {
    const scope = Effect.runSync(Scope.make())
    opened = {
      scope,
      cluster: Effect.runPromise(Scope.extend(openTestCluster, scope)).then((cluster) => (currentCluster = cluster))
    }
  }
  return opened.cluster
}

export const closeTestCluster = async (): Promise<void> => {
  const { scope } = opened ?? {}
  opened = undefined
  if (scope !== undefined) await Effect.runPromise(Scope.close(scope, Exit.void))
}

interface KubernetesDriverOptions {
  readonly directory: string
  readonly program: string
  readonly onClose: "leave" | "stop"
  readonly intervals?: Partial<PodMonitorIntervals>
  readonly podTimeout?: Duration.Duration
  /** Default: that of the backend. */
  readonly kubeconfig?: string
  /** Default: an image of the program. */
  readonly image?: string
}

export const kubernetesDriver = ({
  directory,
  image,
  intervals,
  kubeconfig,
  onClose,
  podTimeout,
  program
}: KubernetesDriverOptions) =>
  Effect.gen(function* () {
    const { fake, kubeconfig: own } = yield* Effect.promise(testCluster)
    const namespace = namespaceOf(directory)
    fake.createNamespace(namespace)
    return yield* KubernetesInstanceDriver.make({
      connection: yield* ClusterConnection.make({
        kubeconfig: Option.some(kubeconfig ?? own),
        namespace: Option.some(namespace)
      }),
      backendUrl: new URL("http://127.0.0.1:1"),
      image: image ?? imageOf(program),
      permission: detectPermissionFlags(process.allowedNodeEnvironmentFlags),
      directory,
      onClose,
      ...(podTimeout === undefined ? {} : { podTimeout }),
      ...(intervals === undefined ? {} : { intervals })
    })
  }).pipe(Effect.provide(UnixSocketClient.layer))

export const namesOf = (directory: string, owner: UserId) => Option.getOrThrow(makePodNames(owner, directory))

export const findPodPid = (directory: string, owner: UserId) =>
  Effect.promise(async () => {
    const { fake } = await testCluster()
    return fake.kubelet.pidOf(namespaceOf(directory), namesOf(directory, owner).pod) ?? 0
  })

/** The directory of an owner's volume on this machine. */
export const volumePathOf = (directory: string, owner: UserId): string =>
  currentCluster?.fake.kubelet.volumeOf(namespaceOf(directory), namesOf(directory, owner).name) ?? ""

export const logFilesOf = async (directory: string, owner: UserId): Promise<ReadonlyArray<string>> => {
  const { fake } = await testCluster()
  return fake.kubelet.logFilesOf(namespaceOf(directory), namesOf(directory, owner).pod)
}
