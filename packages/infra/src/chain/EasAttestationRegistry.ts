import type { BlockTag } from "@berth/domain/chain/Chain"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import type { Attestation } from "@berth/domain/verification/Attestation"
import { AttestationRegistry } from "@berth/domain/verification/AttestationRegistry"
import { DateTime, Effect, Layer, Option } from "effect"
import { type Hex, parseAbi, zeroHash } from "viem"
import { readContract } from "viem/actions"
import { type ChainNode, toViemAddress } from "./ChainNode.ts"

const easAbi = parseAbi([
  "struct Attestation { bytes32 uid; bytes32 schema; uint64 time; uint64 expirationTime; uint64 revocationTime; bytes32 refUID; address recipient; address attester; bool revocable; bytes data; }",
  "function getAttestation(bytes32 uid) view returns (Attestation)"
])
const indexerAbi = parseAbi(["function getAttestationUid(address recipient, bytes32 schemaUid) view returns (bytes32)"])

interface EasContracts {
  readonly eas: WalletAddress
  readonly coinbaseIndexer: WalletAddress
  readonly coinbaseSchema: string
}

const toHex = (text: string): Hex => `0x${text.slice(2).toLowerCase()}`

/** None for 0, and for times after the maximum date. */
const toTime = (seconds: bigint): Option.Option<DateTime.Utc> =>
  seconds === 0n ? Option.none() : DateTime.make(Number(seconds) * 1000)

/**
 * Contracts of the Ethereum Attestation Service and of Coinbase's indexer. They never revert on these calls, so an
 * error is an outage.
 */
export const layer = (
  node: ChainNode,
  { coinbaseIndexer, coinbaseSchema, eas }: EasContracts
): Layer.Layer<AttestationRegistry> =>
  Layer.succeed(AttestationRegistry, {
    find: Effect.fn("AttestationRegistry.find")(function* (uid: string, blockTag: BlockTag) {
      const found = yield* node.call((client) =>
        readContract(client, {
          abi: easAbi,
          functionName: "getAttestation",
          address: toViemAddress(eas),
          args: [toHex(uid)],
          blockTag
        })
      )
      if (found.uid !== toHex(uid) || found.uid === zeroHash) return Option.none()
      return Option.some<Attestation>({
        uid: found.uid,
        schema: found.schema,
        attester: WalletAddress.make(found.attester),
        recipient: WalletAddress.make(found.recipient),
        isRevoked: found.revocationTime !== 0n,
        expiresAt: toTime(found.expirationTime)
      })
    }),
    findAccountAttestation: Effect.fn("AttestationRegistry.findAccountAttestation")(function* (
      wallet: WalletAddress,
      blockTag: BlockTag
    ) {
      const uid = yield* node.call((client) =>
        readContract(client, {
          abi: indexerAbi,
          functionName: "getAttestationUid",
          address: toViemAddress(coinbaseIndexer),
          args: [toViemAddress(wallet), toHex(coinbaseSchema)],
          blockTag
        })
      )
      return uid === zeroHash ? Option.none() : Option.some(uid)
    })
  })
