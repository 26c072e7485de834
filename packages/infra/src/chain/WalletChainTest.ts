import { ChainUnreachable } from "@berth/domain/chain/ChainErrors"
import type { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { WalletChain } from "@berth/domain/wallets/WalletChain"
import { Context, Effect, Layer, Ref } from "effect"
import { makeTestPort } from "../testing/TestPort.ts"

/** A call of the chain. */
export interface WalletChainCall {
  readonly method: "readBalance"
  readonly address: WalletAddress
}

export type WalletChainBehavior = WalletChain["Type"]

const make = Effect.gen(function* () {
  const balances = yield* Ref.make<ReadonlyMap<WalletAddress, bigint>>(new Map())
  const { handle, run } = yield* makeTestPort<WalletChainCall, WalletChainBehavior>({
    readBalance: (address) => Effect.map(Ref.get(balances), (known) => known.get(address) ?? 0n)
  })
  return {
    ...handle,
    chain: WalletChain.of({
      readBalance: (address) => run({ method: "readBalance", address }, (its) => its.readBalance(address))
    }),
    setBalance: (address: WalletAddress, wei: bigint) =>
      Ref.update(balances, (known) => new Map([...known, [address, wei]])),
    /** Behavior of an outage. */
    away: { readBalance: () => new ChainUnreachable({ reason: "the node is down" }) }
  }
})

/** Handle of the chain of `layer`. */
export class WalletChainTest extends Context.Tag("@berth/test/WalletChainTest")<
  WalletChainTest,
  Effect.Effect.Success<typeof make>
>() {}

/** The chain of user wallets in memory. */
export const layer: Layer.Layer<WalletChain | WalletChainTest> = Layer.effectContext(
  Effect.map(make, (test) => Context.make(WalletChain, test.chain).pipe(Context.add(WalletChainTest, test)))
)
