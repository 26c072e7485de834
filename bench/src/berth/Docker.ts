import { root } from "@berth/test/e2e/BerthProcess"
import { Config, Effect, Option } from "effect"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)
/** Made by the measured service. */
export const dockerNetwork = "berth-bench"
const image = "berth-bench-runtime"

const execute = (command: string, args: ReadonlyArray<string>) =>
  Effect.map(
    Effect.promise(() => run(command, [...args], { maxBuffer: 64 * 1024 * 1024 })),
    ({ stdout }) => stdout.trim()
  )

/** Runs the `docker` command against the engine of DOCKER_HOST. */
export const runDocker = (...args: ReadonlyArray<string>): Effect.Effect<string> => execute("docker", args)

/** Settings for instances in containers of the engine of DOCKER_HOST; none without it. The scope removes the network. */
export const dockerEnvironment = Effect.gen(function* () {
  const host = yield* Effect.orDie(Config.option(Config.nonEmptyString("DOCKER_HOST")))
  if (Option.isNone(host)) return Option.none()
  yield* execute(process.execPath, [join(root, "scripts", "image.mjs"), "--local", "--tag", image])
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const left = yield* runDocker("ps", "--all", "--quiet", "--filter", `network=${dockerNetwork}`)
      if (left !== "") yield* runDocker("rm", "--force", "--volumes", ...left.split("\n"))
      yield* Effect.ignore(Effect.sandbox(runDocker("network", "rm", dockerNetwork)))
    })
  )
  return Option.some({
    image,
    environment: {
      AGENT_RUNTIME: "docker",
      DOCKER_HOST: host.value,
      DOCKER_NETWORK: dockerNetwork,
      RUNTIME_IMAGE: image
    }
  })
})
