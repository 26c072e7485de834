import { installationLabels } from "@berth/infra/instance-drivers/docker/ContainerProfile"
import * as DockerEngine from "@berth/infra/instance-drivers/docker/DockerEngine"
import type { UserId } from "@berth/domain/shared/UserId"
import { Effect, Option } from "effect"
import { execFile, execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { dockerAddress, dockerHost } from "../../support/DockerDaemon.ts"
import { readdir } from "node:fs/promises"

export { testNetwork } from "../../support/DockerDaemon.ts"

const run = promisify(execFile)
const imageScript = fileURLToPath(new URL("../../../scripts/image.mjs", import.meta.url))

let currentHost = ""

export const testEngine = Effect.gen(function* () {
  currentHost = yield* Effect.promise(dockerHost)
  return yield* DockerEngine.make(yield* Effect.promise(dockerAddress))
})

const installations = new Set<string>()

/** Drivers of one directory belong to one installation. */
export const installationOf = (directory: string): string => {
  const installation = createHash("sha256").update(directory).digest("hex").slice(0, 12)
  installations.add(installation)
  return installation
}

const containerOf = (directory: string, owner: UserId) => `berth-${installationOf(directory)}-${owner}`

const images = new Map<string, Promise<string>>()

/** Builds an image with a program in place of the runtime, by the project's Dockerfile. */
export const buildImage = async (program: string, host: string): Promise<string> => {
  // Bundles are named by their content.
  const tag = `berth-test:${dirname(program).split("/").at(-1) ?? ""}`
  const env = { ...process.env, DOCKER_HOST: host }
  await run(process.execPath, [imageScript, "--local", "--bundle", program, "--tag", tag], { env })
  return tag
}

/** Builds an image on the engine of the run. */
export const buildTestImage = (program: string): Promise<string> => {
  const known = images.get(program)
  if (known !== undefined) return known
  const built = dockerHost().then((host) => buildImage(program, host))
  images.set(program, built)
  return built
}

export const inspectTestContainer = (directory: string, owner: UserId) =>
  Effect.scoped(Effect.flatMap(testEngine, (engine) => engine.inspectContainer(containerOf(directory, owner)))).pipe(
    Effect.map(Option.getOrThrow),
    Effect.orDie
  )

let dataRoot: string | undefined

export const runDocker = (...args: ReadonlyArray<string>): string =>
  execFileSync("docker", args, { encoding: "utf8", env: { ...process.env, DOCKER_HOST: currentHost } }).trim()

/** The data directory of the engine on this machine. */
const readDataRoot = (): string => {
  dataRoot ??= runDocker("info", "--format", "{{.DockerRootDir}}")
  return dataRoot
}

/** The directory of an owner's volume on this machine. */
export const volumePathOf = (directory: string, owner: UserId): string =>
  join(readDataRoot(), "volumes", containerOf(directory, owner), "_data")

export const logFilesOf = async (directory: string, owner: UserId): Promise<ReadonlyArray<string>> => {
  const { Id } = await Effect.runPromise(inspectTestContainer(directory, owner))
  const home = join(readDataRoot(), "containers", Id)
  return (await readdir(home)).filter((name) => name.includes("-json.log")).map((name) => join(home, name))
}

export const removeTestInstances = (): Promise<void> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const engine = yield* testEngine
        for (const installation of installations) {
          const labels = installationLabels(installation)
          for (const { Id } of yield* engine.listContainers(labels)) yield* engine.removeContainer(Id)
          for (const { Name } of yield* engine.listVolumes(labels)) yield* engine.removeVolume(Name)
        }
      })
    )
  )

/** Deletes the firewall rules of a bridge before its removal. */
export const reopenHostPorts = (bridge: string): void => {
  const chain = `BERTH-${bridge}`
  for (const args of [
    ["-D", "INPUT", "-i", bridge, "-j", chain],
    ["-F", chain],
    ["-X", chain]
  ])
    execFileSync("iptables", ["--wait", "10", ...args])
}
