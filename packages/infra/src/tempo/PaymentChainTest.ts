import { ChainUnreachable } from "@berth/domain/chain/Chain"
import { ChainTransaction, PaymentChain, TransactionUnreadable } from "@berth/domain/gateway/payments/PaymentChain"
import { Context, Effect, Option, Ref, Schema } from "effect"
import { createHash } from "node:crypto"
import { makeTestPort } from "../testing/TestPort.ts"

/** A transfer to sign; default: of the first token. */
export interface TransferRequest {
  readonly token?: string
  readonly to: string
  readonly amount: bigint
  readonly memo?: string
}

/** Deviations of a transaction. */
export interface TransactionOverrides {
  readonly chainId?: number
  /** Seconds since the epoch. */
  readonly validAfter?: number
  readonly validBefore?: number
  readonly isUnfunded?: boolean
  /** Whether the payer can pay only the fee. */
  readonly reverts?: boolean
  /** Whether the fee requires a second signature. */
  readonly needsFeePayer?: boolean
}

export interface PaymentNetwork {
  readonly chain: PaymentChain["Type"]
  readonly withoutNode: PaymentChain["Type"]
  readonly chainId: number
  readonly token: string
  readonly otherToken: string
  /** Signs a transaction of a new payer with funds, without a broadcast. */
  readonly sign: (transfers: ReadonlyArray<TransferRequest>, overrides?: TransactionOverrides) => Effect.Effect<string>
}

/** A transaction of this network is JSON in hex. */
const Transaction = Schema.parseJson(
  Schema.Struct({
    payer: Schema.Int,
    chainId: Schema.Int,
    transfers: Schema.Array(
      Schema.Struct({
        token: Schema.String,
        to: Schema.String,
        amount: Schema.BigInt,
        memo: Schema.UndefinedOr(Schema.String)
      })
    ),
    validAfter: Schema.UndefinedOr(Schema.Int),
    validBefore: Schema.UndefinedOr(Schema.Int),
    isUnfunded: Schema.Boolean,
    reverts: Schema.Boolean,
    needsFeePayer: Schema.Boolean
  })
)
type Transaction = typeof Transaction.Type

const hashOf = (raw: string) => `0x${createHash("sha256").update(raw).digest("hex")}`
const mark = "0x76"

interface PaymentChainCall {
  readonly method: keyof PaymentChain["Type"]
  /** Signed transaction or hash. */
  readonly input: string
}

/** A chain in memory that can delay transactions, drop its responses or be unreachable. */
export const make = Effect.gen(function* () {
  const known = yield* Ref.make<ReadonlyMap<string, ChainTransaction>>(new Map())
  const sent = yield* Ref.make<ReadonlyArray<string>>([])
  const payers = yield* Ref.make(0)
  const isUp = yield* Ref.make(true)
  const isMining = yield* Ref.make(true)
  const losesAnswers = yield* Ref.make(false)
  const token = `0x20c0${"00".repeat(18)}`

  const ifUp = Effect.filterOrFail(
    Ref.get(isUp),
    (up) => up,
    () => new ChainUnreachable({ reason: "the node is down" })
  )

  const decoded = (raw: string) =>
    Effect.mapError(
      Schema.decode(Transaction)(Buffer.from(raw.slice(mark.length), "hex").toString("utf8")),
      () => new TransactionUnreadable()
    )

  const executed = ({ reverts, transfers }: Transaction) =>
    ChainTransaction.Mined({ succeeded: !reverts, transfers: reverts ? [] : transfers })

  const take = Effect.fnUntraced(function* (raw: string) {
    const hash = hashOf(raw)
    if ((yield* Ref.get(known)).has(hash)) return "taken" as const
    const transaction = yield* Effect.option(decoded(raw))
    if (Option.isNone(transaction) || transaction.value.isUnfunded) return "refused" as const
    const state = (yield* isMining) ? executed(transaction.value) : ChainTransaction.Pending()
    yield* Ref.update(known, (all) => new Map([...all, [hash, state]]))
    return "taken" as const
  })

  const { handle, run } = yield* makeTestPort<PaymentChainCall, PaymentChain["Type"]>({
    decode: (raw) =>
      Effect.map(decoded(raw), ({ chainId, needsFeePayer, transfers, validAfter, validBefore }) => ({
        hash: hashOf(raw),
        raw,
        chainId,
        transfers,
        validAfter,
        validBefore,
        needsFeePayer
      })),
    find: (hash) =>
      Effect.zipRight(
        ifUp,
        Effect.map(Ref.get(known), (all) => all.get(hash) ?? ChainTransaction.Unknown())
      ),
    broadcast: (raw) =>
      Effect.gen(function* () {
        yield* ifUp
        yield* Ref.update(sent, (all) => [...all, raw])
        const verdict = yield* take(raw)
        if (yield* losesAnswers) return yield* new ChainUnreachable({ reason: "the answer was lost" })
        return verdict
      })
  })
  const chain = PaymentChain.of({
    decode: (raw) => run({ method: "decode", input: raw }, (its) => its.decode(raw)),
    find: (hash) => run({ method: "find", input: hash }, (its) => its.find(hash)),
    broadcast: (raw) => run({ method: "broadcast", input: raw }, (its) => its.broadcast(raw))
  })

  const withoutNode = PaymentChain.of({
    decode: chain.decode,
    find: () => new ChainUnreachable({ reason: "there is no node" }),
    broadcast: () => new ChainUnreachable({ reason: "there is no node" })
  })

  const network: PaymentNetwork = {
    chain,
    withoutNode,
    chainId: 1337,
    token,
    otherToken: `0x20c0${"00".repeat(17)}01`,
    sign: Effect.fnUntraced(function* (
      transfers: ReadonlyArray<TransferRequest>,
      overrides: TransactionOverrides = {}
    ) {
      const text = yield* Schema.encode(Transaction)({
        payer: yield* Ref.updateAndGet(payers, (count) => count + 1),
        chainId: overrides.chainId ?? 1337,
        transfers: transfers.map((transfer) => ({
          token: transfer.token ?? token,
          to: transfer.to.toLowerCase(),
          amount: transfer.amount,
          memo: transfer.memo
        })),
        validAfter: overrides.validAfter,
        validBefore: overrides.validBefore,
        isUnfunded: overrides.isUnfunded ?? false,
        reverts: overrides.reverts ?? false,
        needsFeePayer: overrides.needsFeePayer ?? false
      })
      return mark + Buffer.from(text).toString("hex")
    }, Effect.orDie)
  }

  return {
    ...network,
    ...handle,
    hashOf,
    /** All broadcast transactions, including repetitions. */
    broadcastTransactions: Ref.get(sent),
    setAvailable: (up: boolean) => Ref.set(isUp, up),
    /** False keeps new transactions pending; true mines pending and new ones. */
    setMining: Effect.fnUntraced(function* (mining: boolean) {
      yield* Ref.set(isMining, mining)
      if (!mining) return
      for (const raw of yield* Ref.get(sent)) {
        const transaction = yield* Effect.option(decoded(raw))
        if (Option.isSome(transaction) && (yield* Ref.get(known)).get(hashOf(raw))?._tag === "Pending")
          yield* Ref.update(known, (all) => new Map([...all, [hashOf(raw), executed(transaction.value)]]))
      }
    }),
    /** Whether responses of successful broadcasts are lost. */
    setDropsResponses: (loses: boolean) => Ref.set(losesAnswers, loses)
  }
})
export type InMemoryPaymentNetwork = Effect.Effect.Success<typeof make>

/** Handle of the chain. */
export class PaymentChainTest extends Context.Tag("@berth/test/PaymentChainTest")<
  PaymentChainTest,
  InMemoryPaymentNetwork
>() {}
