import { type Cause, Effect, Schedule } from "effect"
import { createHash } from "node:crypto"
import type { DockerEngine } from "./DockerEngine.ts"
import { type EngineError, type EngineRequestRejected, EngineUnsafe } from "./EngineErrors.ts"
import type { NetworkCreation, NetworkInspection } from "./EngineModels.ts"

const isolationOption = "com.docker.network.bridge.enable_icc"
const bridgeOption = "com.docker.network.bridge.name"

/** The engine allows two networks of one name that are created at once, but no two of one bridge. */
const makeBridgeName = (network: string) => `br-${createHash("sha256").update(network).digest("hex").slice(0, 12)}`

/** A network whose containers reach the host's gateway address and nothing else, and that only the host reaches. */
export const makeNetworkCreation = (name: string): NetworkCreation => ({
  Name: name,
  CheckDuplicate: true,
  Driver: "bridge",
  Internal: true,
  EnableIPv6: false,
  Options: { [isolationOption]: "false", [bridgeOption]: makeBridgeName(name) }
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

const isTaken = (error: EngineError | Cause.NoSuchElementException): error is EngineRequestRejected =>
  error._tag === "EngineRequestRejected" && (error.status === 403 || error.status === 409)

const whileBeingMade = Schedule.spaced("100 millis").pipe(Schedule.upTo("5 seconds"))

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
    const inspected = Effect.flatten(engine.inspectNetwork(name))
    const created = Effect.zipRight(engine.createNetwork(makeNetworkCreation(name)), inspected)
    // The engine rejects the second of two that are made at once, before it lists the first.
    const network = yield* inspected.pipe(
      Effect.catchTag("NoSuchElementException", () =>
        Effect.catchIf(created, isTaken, (error) =>
          Effect.orElseFail(Effect.retry(inspected, whileBeingMade), () => error)
        )
      ),
      Effect.catchTag("NoSuchElementException", () => refuse("it is missing"))
    )
    const weaknesses = findNetworkWeaknesses(network)
    if (weaknesses.length > 0) return yield* refuse(weaknesses.join(", "))
    const gateway = network.IPAM.Config?.find(({ Gateway }) => Gateway !== undefined)?.Gateway
    if (gateway === undefined) return yield* refuse("it has no gateway address")
    return { name, gateway, bridge: network.Options[bridgeOption] ?? `br-${network.Id.slice(0, 12)}` }
  })
