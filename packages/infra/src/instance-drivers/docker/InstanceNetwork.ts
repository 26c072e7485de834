import { Array, DateTime, Effect, Order } from "effect"
import type { DockerEngine } from "./DockerEngine.ts"
import { type EngineError, EngineUnsafe } from "./EngineErrors.ts"
import type { NetworkCreation, NetworkInspection } from "./EngineModels.ts"

const isolationOption = "com.docker.network.bridge.enable_icc"

/** Network on which containers can access only the host's gateway address, and only the host can access them. */
export const makeNetworkCreation = (name: string): NetworkCreation => ({
  Name: name,
  CheckDuplicate: true,
  Driver: "bridge",
  Internal: true,
  EnableIPv6: false,
  Options: { [isolationOption]: "false" }
})

/** Returns the missing isolation properties of a network. */
export const findNetworkWeaknesses = (
  network: Pick<NetworkInspection, "Driver" | "EnableIPv6" | "Internal" | "Options">
): ReadonlyArray<string> =>
  [
    network.Driver === "bridge" ? "" : `its driver is ${network.Driver}, not bridge`,
    network.Internal ? "" : "it is not internal",
    network.Options[isolationOption] === "false" ? "" : `its option ${isolationOption} is not false`,
    network.EnableIPv6 ? "it has IPv6" : ""
  ].filter((weakness) => weakness !== "")

interface InstanceNetwork {
  readonly name: string
  /** Address of the host on the network. */
  readonly gateway: string
  /** Interface of the host. */
  readonly bridge: string
}

const electionLabel = "berth.network"

const isUnused = ({ Containers }: NetworkInspection) => Object.keys(Containers).length === 0

/** Networks in use first, then older networks. */
const candidateOrder = Order.combineAll([
  Order.mapInput(Order.boolean, isUnused),
  Order.mapInput(DateTime.Order, ({ Created }: NetworkInspection) => Created),
  Order.mapInput(Order.string, ({ Id }: NetworkInspection) => Id)
])

const hasId = (id: string | undefined) => (network: NetworkInspection) => network.Id === id

/**
 * Elects one network of a name for all programs; creates it if absent. Concurrent creations can make several, and then
 * the engine starts no container. Volume names are unique, so a volume records in its label the network proposed first.
 */
const electNetwork = Effect.fnUntraced(function* (engine: DockerEngine, name: string) {
  const volume = `berth-network-${name}`
  const propose = ({ Id }: NetworkInspection) =>
    Effect.map(engine.createVolume(volume, { [electionLabel]: Id }), ({ Labels }) => Labels[electionLabel])
  const listCandidates = engine.listNetworks(name).pipe(
    Effect.flatMap(Effect.forEach(({ Id }) => engine.inspectNetwork(Id))),
    Effect.map((candidates) => Array.sort(Array.getSomes(candidates), candidateOrder))
  )
  if ((yield* engine.listNetworks(name)).length === 0)
    // Another program may have created it concurrently.
    yield* Effect.catchTag(engine.createNetwork(makeNetworkCreation(name)), "EngineRequestRejected", (error) =>
      error.status === 409 ? Effect.void : error
    )
  const candidate = yield* Array.head(yield* listCandidates)
  const first = yield* propose(candidate)
  const candidates = yield* listCandidates
  // The elected network was removed manually.
  const isGone = !candidates.some(hasId(first))
  if (isGone) yield* engine.removeVolume(volume)
  const elected = isGone ? yield* propose(candidate) : first
  yield* Effect.forEach(
    candidates.filter((network) => network.Id !== elected),
    ({ Id }) => engine.removeNetwork(Id),
    { discard: true }
  )
  return yield* Array.findFirst(candidates, hasId(elected))
})

/** Returns the network of instances; creates it if absent. Rejects an existing network without isolation. */
export const ensureNetwork = Effect.fnUntraced(function* (
  engine: DockerEngine,
  name: string
): Effect.fn.Return<InstanceNetwork, EngineError | EngineUnsafe> {
  const refuse = (reason: string) =>
    new EngineUnsafe({
      reason: `The Docker network ${name} does not isolate instances: ${reason}. Remove it with \`docker network rm ${name}\`, or set DOCKER_NETWORK to another name; a missing network is made.`
    })
  const network = yield* Effect.catchTag(electNetwork(engine, name), "NoSuchElementException", () =>
    refuse("it is missing")
  )
  const weaknesses = findNetworkWeaknesses(network)
  if (weaknesses.length > 0) return yield* refuse(weaknesses.join(", "))
  const gateway = network.IPAM.Config?.find(({ Gateway }) => Gateway !== undefined)?.Gateway
  if (gateway === undefined) return yield* refuse("it has no gateway address")
  return { name, gateway, bridge: `br-${network.Id.slice(0, 12)}` }
})
