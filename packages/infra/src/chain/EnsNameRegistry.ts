import type { BlockTag } from "@berth/domain/chain/Chain"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { NameRegistry } from "@berth/domain/verification/NameRegistry"
import { Effect, Layer, Option } from "effect"
import { BaseError, type Client, ContractFunctionRevertedError } from "viem"
import { getEnsAddress, getEnsName } from "viem/actions"
import { normalize } from "viem/ens"
import { OutboundClient } from "../net/OutboundClient.ts"
import { makeCcipGateways } from "./CcipGateways.ts"
import { type ChainNode, toViemAddress } from "./ChainNode.ts"

/** The proxy of ENS's universal resolver on Ethereum. */
const universalResolverAddress = "0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe"

/** Maximum octets of a domain name. */
const maximumName = 255

/** Errors of the universal resolver for names without a record, and for invalid names. */
const absences = new Set([
  "DNSDecodingFailed",
  "DNSEncodingFailed",
  "EmptyAddress",
  "ResolverError",
  "ResolverNotContract",
  "ResolverNotFound",
  "UnsupportedResolverProfile"
])

const readRevert = (error: unknown) => {
  const found =
    error instanceof BaseError ? error.walk((cause) => cause instanceof ContractFunctionRevertedError) : null
  return found instanceof ContractFunctionRevertedError ? found.data : undefined
}

const isAbsence = (error: unknown): boolean => absences.has(readRevert(error)?.errorName ?? "")

/** Returns the claimed name of a wallet that resolves to another address. */
const readForeignName = (error: unknown): string => {
  const { args, errorName } = readRevert(error) ?? {}
  const name = errorName === "ReverseAddressMismatch" ? args?.[0] : undefined
  if (typeof name !== "string") throw error
  return name
}

/** Rejects names that normalization changes, since they can imitate other names. */
const isNormal = (name: string): boolean => {
  if (name === "" || Buffer.byteLength(name) > maximumName) return false
  try {
    return normalize(name) === name
  } catch {
    return false
  }
}

/** ENS through its universal resolver, which also queries wildcard and off-chain resolvers. */
export const layer = (node: ChainNode): Layer.Layer<NameRegistry, never, OutboundClient> =>
  Layer.effect(
    NameRegistry,
    Effect.map(OutboundClient, (outbound) => {
      const query = <A>(request: (client: Client) => Promise<A | null>) =>
        Effect.suspend(() => {
          const gateways = makeCcipGateways(outbound)
          return node.call((client) =>
            request({ ...client, ccipRead: { request: gateways.request } }).then(
              Option.fromNullable,
              (error: unknown) => {
                // The contract reports an unreachable gateway as an absent name.
                if (!gateways.hasFailed() && isAbsence(error)) return Option.none()
                throw error
              }
            )
          )
        })

      return NameRegistry.of({
        findPrimaryName: Effect.fn("NameRegistry.findPrimaryName")(function* (
          wallet: WalletAddress,
          blockTag: BlockTag
        ) {
          const address = toViemAddress(wallet)
          const name = yield* query((client) =>
            getEnsName(client, { address, universalResolverAddress, strict: true, blockTag }).catch(readForeignName)
          )
          return Option.filter(name, isNormal)
        }),
        findAddress: Effect.fn("NameRegistry.findAddress")(function* (name: string, blockTag: BlockTag) {
          const address = yield* query((client) =>
            getEnsAddress(client, { name, universalResolverAddress, strict: true, blockTag })
          )
          return Option.map(address, (found) => WalletAddress.make(found))
        })
      })
    })
  )
