import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { DateTime, Effect } from "effect"
import {
  type Address,
  createTestClient,
  encodeDeployData,
  type Hex,
  http,
  parseAbi,
  parseEventLogs,
  publicActions,
  walletActions,
  zeroAddress,
  zeroHash
} from "viem"
import { base } from "viem/chains"
import { startAnvil } from "./Anvil.ts"
import eas from "./EasContracts.json" with { type: "json" }
import fixtures from "./VerificationFixtures.json" with { type: "json" }

const easAbi = parseAbi([
  "constructor(address registry)",
  "struct AttestationRequestData { address recipient; uint64 expirationTime; bool revocable; bytes32 refUID; bytes data; uint256 value; }",
  "struct AttestationRequest { bytes32 schema; AttestationRequestData data; }",
  "struct RevocationRequestData { bytes32 uid; uint256 value; }",
  "struct RevocationRequest { bytes32 schema; RevocationRequestData data; }",
  "function attest(AttestationRequest request) payable returns (bytes32)",
  "function revoke(RevocationRequest request) payable",
  "event Attested(address indexed recipient, address indexed attester, bytes32 uid, bytes32 indexed schemaUID)"
])
const registryAbi = parseAbi([
  "function register(string schema, address resolver, bool revocable) returns (bytes32)",
  "event Registered(bytes32 indexed uid, address indexed registerer, (bytes32 uid, address resolver, bool revocable, string schema) schema)"
])
const indexerAbi = parseAbi(["function index(address recipient, bytes32 schema, bytes32 uid)"])

export interface AttestationChanges {
  /** Default: the trusted one. */
  readonly attester?: Address
  /** Default: the trusted one. */
  readonly schema?: Hex
  /** Epoch seconds. Default: never. */
  readonly expiresAt?: bigint
  /** Whether the block becomes safe. Default: true. */
  readonly isSafe?: boolean
}

/**
 * A chain with the id of Base, the contracts of EAS and an indexer. A block is safe when one follows. Its clock is an
 * hour late.
 */
export const startAttestationChain = Effect.gen(function* () {
  const startedAt = Math.floor(DateTime.toEpochMillis(yield* DateTime.now) / 1000) - 3600
  const url = yield* startAnvil(base.id, "--slots-in-an-epoch", "1", "--timestamp", String(startedAt))
  const client = createTestClient({ mode: "anvil", chain: base, transport: http(url), pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions)
  const [deployer, attester, stranger] = yield* Effect.promise(() => client.getAddresses())
  if (deployer === undefined || attester === undefined || stranger === undefined)
    return yield* Effect.dieMessage("anvil has no accounts")

  const mined = (send: () => Promise<Hex>) =>
    Effect.promise(async () => client.waitForTransactionReceipt({ hash: await send() }))
  const deploy = (data: Hex) =>
    Effect.gen(function* () {
      const { contractAddress } = yield* mined(() => client.sendTransaction({ account: deployer, data }))
      return contractAddress ?? (yield* Effect.dieMessage("not deployed"))
    })
  const makeSafe = Effect.promise(() => client.mine({ blocks: 2 }))

  const registry = yield* deploy(`0x${eas.bytecode.SchemaRegistry}`)
  const contract = yield* deploy(encodeDeployData({ abi: easAbi, bytecode: `0x${eas.bytecode.EAS}`, args: [registry] }))
  const indexer = yield* deploy(`0x${fixtures.bytecode.TestIndexer}`)

  const register = (text: string) =>
    Effect.gen(function* () {
      const { logs } = yield* mined(() =>
        client.writeContract({
          account: deployer,
          address: registry,
          abi: registryAbi,
          functionName: "register",
          args: [text, zeroAddress, true]
        })
      )
      const [log] = parseEventLogs({ abi: registryAbi, logs })
      return log?.args.uid ?? (yield* Effect.dieMessage("not registered"))
    })
  const schema = yield* register("bool verifiedAccount")
  const otherSchema = yield* register("bool somethingElse")

  const attest = (
    recipient: string,
    { attester: by = attester, expiresAt = 0n, isSafe = true, schema: of = schema }: AttestationChanges = {}
  ) =>
    Effect.gen(function* () {
      const data = {
        recipient: `0x${recipient.slice(2)}` as const,
        expirationTime: expiresAt,
        revocable: true,
        refUID: zeroHash,
        data: "0x01" as const,
        value: 0n
      }
      const { logs } = yield* mined(() =>
        client.writeContract({
          account: by,
          address: contract,
          abi: easAbi,
          functionName: "attest",
          args: [{ schema: of, data }]
        })
      )
      if (isSafe) yield* makeSafe
      const [log] = parseEventLogs({ abi: easAbi, logs })
      return log?.args.uid ?? (yield* Effect.dieMessage("not attested"))
    })

  return {
    url,
    attester,
    stranger,
    schema,
    otherSchema,
    makeSafe,
    /** A time that this chain has not reached. */
    pastTime: BigInt(startedAt + 1800),
    /** Settings of verification with this chain's contracts. */
    verification: {
      eas: {
        address: WalletAddress.make(contract),
        schemas: [schema],
        attesters: [WalletAddress.make(attester)]
      },
      coinbase: { indexer: WalletAddress.make(indexer), schema, attester: WalletAddress.make(attester) }
    },
    attest,
    revoke: (uid: Hex) =>
      Effect.zipRight(
        mined(() =>
          client.writeContract({
            account: attester,
            address: contract,
            abi: easAbi,
            functionName: "revoke",
            args: [{ schema, data: { uid, value: 0n } }]
          })
        ),
        makeSafe
      ),
    index: (recipient: string, uid: Hex) =>
      Effect.zipRight(
        mined(() =>
          client.writeContract({
            account: deployer,
            address: indexer,
            abi: indexerAbi,
            functionName: "index",
            args: [`0x${recipient.slice(2)}`, schema, uid]
          })
        ),
        makeSafe
      )
  }
})
export type AttestationChain = Effect.Effect.Success<typeof startAttestationChain>
