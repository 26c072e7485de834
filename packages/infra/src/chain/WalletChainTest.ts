import { ChainUnreachable } from "@berth/domain/chain/Chain"
import type { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { type AuthorizationStatus, type TransactionStatus, WalletChain } from "@berth/domain/wallets/WalletChain"
import { Context, Effect, Layer, Ref } from "effect"
import { keccak256 } from "viem"
import { makeTestPort } from "../testing/TestPort.ts"

/** A call of the chain; `of` is its address, transaction or nonce. */
interface WalletChainCall {
  readonly method: keyof WalletChain["Type"]
  readonly of: string
}

export type WalletChainBehavior = WalletChain["Type"]

const gwei = 10n ** 9n

const make = Effect.gen(function* () {
  const balances = yield* Ref.make<ReadonlyMap<string, bigint>>(new Map())
  const usdc = yield* Ref.make<ReadonlyMap<string, bigint>>(new Map())
  const mined = yield* Ref.make<ReadonlySet<string>>(new Set())
  const used = yield* Ref.make<ReadonlySet<string>>(new Set())
  const away = new ChainUnreachable({ reason: "the node is down" })

  const defaults: WalletChainBehavior = {
    readBalance: (address) => Effect.map(Ref.get(balances), (known) => known.get(address) ?? 0n),
    readUsdcBalance: (address) => Effect.map(Ref.get(usdc), (known) => known.get(address) ?? 0n),
    readFeesAndNonce: () => Effect.succeed({ nonce: 0, maxFeePerGas: gwei, maxPriorityFeePerGas: gwei }),
    broadcast: (raw) => Ref.update(mined, (known) => new Set([...known, keccak256(`0x${raw.slice(2)}`)])),
    findTransactionStatus: (hash) =>
      Effect.map(Ref.get(mined), (known): TransactionStatus => (known.has(hash) ? "succeeded" : "unknown")),
    findAuthorization: (_, nonce) =>
      Effect.map(Ref.get(used), (known): AuthorizationStatus => (known.has(nonce) ? "used" : "open"))
  }
  const { handle, run } = yield* makeTestPort<WalletChainCall, WalletChainBehavior>(defaults)
  const set = (amounts: typeof balances) => (address: WalletAddress, amount: bigint) =>
    Ref.update(amounts, (known) => new Map([...known, [address, amount]]))

  return {
    ...handle,
    chain: WalletChain.of({
      readBalance: (of) => run({ method: "readBalance", of }, (its) => its.readBalance(of)),
      readUsdcBalance: (of) => run({ method: "readUsdcBalance", of }, (its) => its.readUsdcBalance(of)),
      readFeesAndNonce: (of) => run({ method: "readFeesAndNonce", of }, (its) => its.readFeesAndNonce(of)),
      broadcast: (of) => run({ method: "broadcast", of }, (its) => its.broadcast(of)),
      findTransactionStatus: (of) =>
        run({ method: "findTransactionStatus", of }, (its) => its.findTransactionStatus(of)),
      findAuthorization: (authorizer, of, validBefore) =>
        run({ method: "findAuthorization", of }, (its) => its.findAuthorization(authorizer, of, validBefore))
    }),
    defaults,
    setBalance: set(balances),
    setUsdc: set(usdc),
    /** Submits an authorization as its holder. */
    use: (nonce: string) => Ref.update(used, (known) => new Set([...known, nonce])),
    /** Simulates an outage. */
    away: {
      readBalance: () => away,
      readUsdcBalance: () => away,
      readFeesAndNonce: () => away,
      broadcast: () => away,
      findTransactionStatus: () => away,
      findAuthorization: () => away
    } satisfies WalletChainBehavior
  }
})

/** Handle of the chain of `layer`. */
export class WalletChainTest extends Context.Tag("@berth/test/WalletChainTest")<
  WalletChainTest,
  Effect.Effect.Success<typeof make>
>() {}

/** Chain of user wallets in memory; every transaction succeeds at once. */
export const layer: Layer.Layer<WalletChain | WalletChainTest> = Layer.effectContext(
  Effect.map(make, (test) => Context.make(WalletChain, test.chain).pipe(Context.add(WalletChainTest, test)))
)
