import { Effect, Option } from "effect"
import type { DockerEngine } from "./DockerEngine.ts"
import { type EngineError, EngineUnsafe } from "./EngineErrors.ts"
import type { NetworkCreation, NetworkInspection } from "./EngineModels.ts"

const isolationOption = "com.docker.network.bridge.enable_icc"

/** A network whose containers reach the host's gateway address and nothing else, and that only the host reaches. */
export const makeNetworkCreation = (name: string): NetworkCreation => ({
  Name: name,
  CheckDuplicate: true,
  Driver: "bridge",
  Internal: true,
  EnableIPv6: false,
  Options: { [isolationOption]: "false" }
})

/** The properties that isolate instances and that a network lacks. */
export const findNetworkWeaknesses = (network: NetworkInspection): ReadonlyArray<string> =>
  [
    network.Driver === "bridge" ? "" : `its driver is ${network.Driver}, not bridge`,
    network.Internal ? "" : "it is not internal",
    network.Options[isolationOption] === "false" ? "" : `its option ${isolationOption} is not false`,
    network.EnableIPv6 ? "it has IPv6" : ""
  ].filter((weakness) => weakness !== "")

export interface InstanceNetwork {
  readonly name: string
  /** The host's address on the network. */
  readonly gateway: string
  /** The host's interface. */
  readonly bridge: string
}

/** The network of instances, made when it is missing. A weaker one of the same name is refused. */
export const ensureNetwork = (
  engine: DockerEngine,
  name: string
): Effect.Effect<InstanceNetwork, EngineError | EngineUnsafe> =>
  Effect.gen(function* () {
    const refuse = (reason: string) =>
      new EngineUnsafe({
        reason: `The Docker network ${name} does not isolate instances: ${reason}. Remove it with \`docker network rm ${name}\`, or set DOCKER_NETWORK to another name; a missing network is made.`
      })
    const existing = yield* engine.inspectNetwork(name)
    if (Option.isNone(existing))
      // Another backend may make it at the same time.
      yield* Effect.catchTag(engine.createNetwork(makeNetworkCreation(name)), "EngineRequestRejected", (error) =>
        error.status === 409 ? Effect.void : error
      )
    const network = yield* Effect.flatMap(
      engine.inspectNetwork(name),
      Effect.mapError(() => refuse("it is missing"))
    )
    const weaknesses = findNetworkWeaknesses(network)
    if (weaknesses.length > 0) return yield* refuse(weaknesses.join(", "))
    const gateway = network.IPAM.Config?.find(({ Gateway }) => Gateway !== undefined)?.Gateway
    if (gateway === undefined) return yield* refuse("it has no gateway address")
    return { name, gateway, bridge: `br-${network.Id.slice(0, 12)}` }
  })
