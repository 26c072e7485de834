import { PaymentChain } from "@berth/domain/gateway/payments/PaymentChain"
import { makeRpcNode } from "@berth/infra/chain/ChainNode"
import * as ViemPaymentChain from "@berth/infra/tempo/ViemPaymentChain"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import {
  type Address,
  createClient,
  type Hex,
  http,
  isHex,
  keccak256,
  parseSignature,
  type PrivateKeyAccount
} from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { Actions, Transaction } from "viem/tempo"
import { tempoLocalnet } from "viem/tempo/chains"
import { startAnvil } from "../../support/chain/Anvil.ts"
import { sendHttpCall } from "../../support/HttpCall.ts"
import { paymentRecipient } from "../../support/payments/PaymentFixtures.ts"
import type { TransactionOverrides, PaymentNetwork, TransferRequest } from "@berth/infra/tempo/PaymentChainTest"

/** The first of the accounts that development chains fund. */
const rich = privateKeyToAccount("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
const chainId = 1337
const token: Address = `0x20c0${"00".repeat(18)}`
const otherToken: Address = `0x20c0${"00".repeat(17)}01`
const forFees = 1_000_000n

const portOf = (url: string) =>
  Effect.gen(function* () {
    const node = yield* makeRpcNode({ name: "tempo", chainId, url: Redacted.make(new URL(url)) })
    return Context.get(yield* Layer.build(ViemPaymentChain.layer(node)), PaymentChain)
  })

const hex = (text: string): Hex => (isHex(text) ? text : "0x")

const make = Effect.gen(function* () {
  const url = yield* startAnvil(chainId, "--network", "tempo")
  // The timestamp of the first block is far in the past, where no transaction is valid.
  yield* Effect.orDie(
    sendHttpCall(url, { method: "POST", path: "/", json: { jsonrpc: "2.0", id: 1, method: "evm_mine" } })
  )
  const chain = { ...tempoLocalnet, rpcUrls: { default: { http: [url] } } }
  const client = createClient({ account: rich, chain, transport: http(url), pollingInterval: 20 })
  const oneByOne = yield* Effect.makeSemaphore(1)

  const give = (to: Address, amount: bigint, of: Address = token) =>
    oneByOne.withPermits(1)(
      Effect.promise(() => Actions.token.transferSync(client, { token: of, to, amount, feeToken: token }))
    )

  /** A separate payer: this chain accepts one payment with a random nonce per account. */
  const newPayer = (...money: ReadonlyArray<readonly [Address, bigint]>) =>
    Effect.gen(function* () {
      const account = privateKeyToAccount(generatePrivateKey())
      for (const [of, amount] of money) yield* give(account.address, amount, of)
      return account
    })

  const signed = (
    account: PrivateKeyAccount,
    transfers: ReadonlyArray<TransferRequest>,
    oddities: TransactionOverrides
  ) =>
    Effect.gen(function* () {
      const calls = transfers.map(({ amount, memo, to, token: of }) =>
        Actions.token.transfer.call(client, {
          token: hex(of ?? token),
          to: hex(to),
          amount,
          ...(memo === undefined ? {} : { memo: hex(memo) })
        })
      )
      const transaction = {
        chainId: oddities.chainId ?? chainId,
        calls,
        gas: 600_000n,
        maxFeePerGas: 30_000_000_000n,
        maxPriorityFeePerGas: 1_000_000_000n,
        nonce: 0,
        ...(oddities.validBefore === undefined ? {} : { validBefore: oddities.validBefore }),
        ...(oddities.validAfter === undefined ? {} : { validAfter: oddities.validAfter }),
        ...(oddities.needsFeePayer === true ? { feePayer: true as const } : { feeToken: token })
      }
      return yield* Effect.promise(async () => {
        const signature = await account.sign({ hash: keccak256(await Transaction.serialize(transaction)) })
        return await Transaction.serialize(transaction, parseSignature(signature))
      })
    })

  const network: PaymentNetwork = {
    chain: yield* portOf(url),
    withoutNode: yield* portOf("http://127.0.0.1:1"),
    chainId,
    token,
    otherToken,
    sign: (transfers, oddities = {}) =>
      Effect.gen(function* () {
        const total = transfers.reduce((sum, { amount }) => sum + amount, 0n)
        const payer = yield* newPayer(
          ...(oddities.isUnfunded === true ? [] : [[token, forFees] as const]),
          ...(oddities.isUnfunded === true || oddities.reverts === true
            ? []
            : [[hex(transfers[0]?.token ?? token), total] as const])
        )
        return yield* signed(payer, transfers, oddities)
      })
  }
  return {
    ...network,
    url,
    client,
    /** Transfers an amount of the token to an account. */
    give: (to: Address, amount: bigint) => give(to, amount),
    payer: (amount: bigint) => newPayer([token, amount]),
    received: Effect.promise(async () => {
      const { amount } = await Actions.token.getBalance(client, { token, account: hex(paymentRecipient) })
      return amount
    })
  }
})

/** A Tempo development chain for the scope. */
export const startTempoNetwork: Effect.Effect<Effect.Effect.Success<typeof make>, never, Scope.Scope> = make
export type TempoNetwork = Effect.Effect.Success<typeof make>
