import { PaymentChain } from "@berth/domain/gateway/payments/PaymentChain"
import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import { makeRpcNode } from "@berth/infra/chain/ChainNode"
import * as PostgresPaymentRedemptions from "@berth/infra/postgres/gateway/PostgresPaymentRedemptions"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import * as ViemPaymentChain from "@berth/infra/tempo/ViemPaymentChain"
import { Config, Context, Effect, Layer, Logger, Redacted } from "effect"
import { paidRequest, makeMachinePayments } from "../payments/PaymentFixtures.ts"
import * as TestSecrets from "../TestSecrets.ts"

/*
 * A process that redeems a payment and never responds; it reports progress on its standard output until it is killed.
 */
const print = (word: string) =>
  Effect.zipRight(
    Effect.sync(() => process.stdout.write(`${word}\n`)),
    Effect.never
  )

const payee = Effect.gen(function* () {
  const url = yield* Config.redacted("DATABASE_URL")
  const rpcUrl = Redacted.make(yield* Config.url("RPC_URL"))
  const stopsWhenSent = (yield* Config.string("STOP")) === "sent"
  const node = yield* makeRpcNode({ name: "tempo", chainId: 1337, url: rpcUrl })
  const chain = Context.get(yield* Layer.build(ViemPaymentChain.layer(node)), PaymentChain)
  const storage = PostgresPaymentRedemptions.layer.pipe(
    Layer.provide(
      Layer.merge(PostgresPool.layer({ url, maxConnections: 2, applicationName: "dying payee" }), TestSecrets.layer)
    )
  )
  const redemptions = Context.get(yield* Layer.build(storage), PaymentRedemptions)
  const payments = yield* makeMachinePayments({
    network: {
      chain: stopsWhenSent
        ? { ...chain, broadcast: (raw) => Effect.zipRight(chain.broadcast(raw), print("sent")) }
        : chain,
      chainId: 1337,
      token: yield* Config.string("TOKEN")
    },
    redemptions
  })
  const redeemed = yield* payments.redeem([yield* Config.string("CREDENTIAL")], paidRequest)
  return yield* print(redeemed._tag)
})

void Effect.runPromise(Effect.scoped(payee).pipe(Effect.provide(Logger.remove(Logger.defaultLogger))))
