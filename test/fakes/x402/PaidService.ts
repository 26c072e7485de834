import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { Effect, Schema, type Scope } from "effect"
import { Header } from "mppx/x402"
import { createServer, type IncomingMessage } from "node:http"
import { createWalletClient, type Hex, http, parseAbi, parseSignature, publicActions } from "viem"
import { baseSepolia } from "viem/chains"
import { listenLocally } from "../../support/LocalServer.ts"

type PaidServiceBehavior = "answer" | "settle and lose the answer" | "refuse the payment"

interface PaidService {
  readonly url: string
  readonly payments: ReadonlyArray<string>
  /** Behavior of the next paid requests, in order; later requests are answered. */
  readonly behave: (...next: ReadonlyArray<PaidServiceBehavior>) => Effect.Effect<void>
}

interface PaidServiceOptions {
  readonly rpcUrl: string
  readonly version: 1 | 2
  /** Micro USDC. */
  readonly price: bigint
  readonly payTo: Hex
}

const abi = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)"
])
const usdc: Hex = `0x${walletNetwork.usdc.address.slice(2)}`

const Hexadecimal = Schema.TemplateLiteral(Schema.Literal("0x"), Schema.String)
const Payload = Schema.Struct({
  signature: Hexadecimal,
  authorization: Schema.Struct({
    from: Hexadecimal,
    to: Hexadecimal,
    value: Schema.String,
    validAfter: Schema.String,
    validBefore: Schema.String,
    nonce: Hexadecimal
  })
})
const PaymentV1 = Schema.compose(
  Schema.StringFromBase64,
  Schema.parseJson(
    Schema.Struct({
      x402Version: Schema.Literal(1),
      scheme: Schema.Literal("exact"),
      network: Schema.Literal("base-sepolia"),
      payload: Payload
    })
  )
)

/** A service that sells one answer by x402. Another implementation of the protocol encodes and decodes version 2. */
export const startPaidService = ({
  payTo,
  price,
  rpcUrl,
  version
}: PaidServiceOptions): Effect.Effect<PaidService, never, Scope.Scope> =>
  Effect.gen(function* () {
    const payments: Array<string> = []
    const behaviors: Array<PaidServiceBehavior> = []
    const chain = createWalletClient({ chain: baseSepolia, transport: http(rpcUrl), pollingInterval: 20 }).extend(
      publicActions
    )
    const [account] = yield* Effect.promise(() => chain.getAddresses())

    const readPayload = (request: IncomingMessage): typeof Payload.Type | undefined => {
      const header = request.headers[version === 1 ? "x-payment" : "payment-signature"]
      if (typeof header !== "string") return undefined
      payments.push(header)
      return version === 1
        ? Schema.decodeSync(PaymentV1)(header).payload
        : Schema.decodeUnknownSync(Payload)(Header.decodePaymentSignature(header).payload)
    }

    /** The contract verifies the signature, the amount, the time and the nonce. */
    const settle = async ({ authorization, signature }: typeof Payload.Type) => {
      const { from, nonce, to, validAfter, validBefore, value } = authorization
      if (to.toLowerCase() !== payTo.toLowerCase() || BigInt(value) !== price) throw new Error("payment terms differ")
      const { r, s, v = 27n } = parseSignature(signature)
      const hash = await chain.writeContract({
        account: account ?? payTo,
        address: usdc,
        abi,
        functionName: "transferWithAuthorization",
        args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, Number(v), r, s]
      })
      const { status } = await chain.waitForTransactionReceipt({ hash })
      if (status !== "success") throw new Error("transfer reverted")
    }

    const server = createServer((request, response) => {
      const url = `http://${request.headers.host ?? ""}${request.url ?? ""}`
      const demand = () => {
        const offer = {
          scheme: "exact",
          payTo,
          asset: usdc,
          maxTimeoutSeconds: 60,
          extra: { name: "USDC", version: "2" }
        }
        if (version === 1) {
          const accepts = [
            { ...offer, network: "base", maxAmountRequired: "1" },
            { ...offer, network: "base-sepolia", maxAmountRequired: String(price), resource: url, description: "" }
          ]
          response.writeHead(402, { "content-type": "application/json" })
          response.end(JSON.stringify({ x402Version: 1, error: "X-PAYMENT header is required", accepts }))
        } else {
          const accepted = {
            ...offer,
            scheme: "exact" as const,
            network: `eip155:${baseSepolia.id}` as const,
            amount: String(price)
          }
          const header = Header.encodePaymentRequired({ x402Version: 2, resource: { url }, accepts: [accepted] })
          response.writeHead(402, { "payment-required": header }).end("{}")
        }
      }
      const answer = async () => {
        request.resume()
        const payload = readPayload(request)
        if (payload === undefined) return demand()
        const behavior = behaviors.shift() ?? "answer"
        if (behavior === "refuse the payment") return demand()
        await settle(payload)
        if (behavior === "settle and lose the answer") return void response.destroy()
        response.writeHead(200, { "content-type": "text/plain" }).end("the paid answer")
      }
      answer().catch((cause: unknown) => response.writeHead(500).end(String(cause)))
    })
    const { origin } = yield* listenLocally(server)
    return {
      url: `${origin}/paid`,
      payments,
      behave: (...next) => Effect.sync(() => void behaviors.push(...next))
    }
  })
