import { parseWalletAddress } from "@berth/domain/chain/WalletAddress"
import type { PaymentOffer } from "@berth/domain/wallets/payments/PaidResources"
import type { SignedAuthorization } from "@berth/domain/wallets/payments/WalletSigner"
import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { Array, Option, Schema } from "effect"

/*
 * Messages of x402, scheme `exact` on EVM networks, in version 1 (body and X-PAYMENT) and 2 (PAYMENT-REQUIRED and
 * PAYMENT-SIGNATURE). https://github.com/coinbase/x402/tree/main/specs
 */

const Amount = Schema.String.pipe(Schema.pattern(/^[1-9]\d{0,17}$/))
const common = {
  scheme: Schema.String,
  network: Schema.String,
  payTo: Schema.String,
  asset: Schema.String,
  extra: Schema.optional(Schema.Struct({ assetTransferMethod: Schema.optional(Schema.String) })),
  maxTimeoutSeconds: Schema.Number.pipe(Schema.int(), Schema.positive())
}
const OfferV1 = Schema.Struct({ ...common, maxAmountRequired: Amount })
const OfferV2 = Schema.Struct({ ...common, amount: Amount })
const RequiredV1 = Schema.parseJson(
  Schema.Struct({ x402Version: Schema.Literal(1), accepts: Schema.Array(Schema.Unknown) })
)
const RequiredV2 = Schema.Struct({
  x402Version: Schema.Literal(2),
  accepts: Schema.Array(Schema.Unknown),
  resource: Schema.optional(Schema.Unknown)
})
const RequiredV2Header = Schema.compose(Schema.StringFromBase64, Schema.parseJson(RequiredV2))

const encodeHeader = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64")

const formatAuthorization = ({ signature, validAfter, validBefore, value, ...rest }: SignedAuthorization) => ({
  signature,
  authorization: {
    ...rest,
    value: String(value),
    validAfter: String(validAfter),
    validBefore: String(validBefore)
  }
})

const isPayable = ({
  asset,
  extra,
  network,
  scheme
}: Pick<typeof OfferV2.Type, "asset" | "extra" | "network" | "scheme">) =>
  scheme === "exact" &&
  (extra?.assetTransferMethod ?? "eip3009") === "eip3009" &&
  (network === walletNetwork.name || network === `eip155:${walletNetwork.chainId}`) &&
  asset.toLowerCase() === walletNetwork.usdc.address.toLowerCase()

const toOffer = (
  { maxTimeoutSeconds, payTo, ...offer }: Omit<typeof OfferV2.Type, "amount">,
  amount: string,
  encode: PaymentOffer["encode"]
): Option.Option<PaymentOffer> =>
  isPayable(offer)
    ? Option.map(parseWalletAddress(payTo), (payee) => ({
        amount: BigInt(amount),
        payee,
        maximumSeconds: maxTimeoutSeconds,
        encode
      }))
    : Option.none()

/** Returns the first offer of a 402 that this wallet supports. */
export const readOffer = (header: string | undefined, body: string): PaymentOffer | null => {
  const second = Option.flatMap(Option.fromNullable(header), Schema.decodeOption(RequiredV2Header))
  if (Option.isSome(second)) {
    const { accepts, resource } = second.value
    return Option.getOrNull(
      Array.findFirst(accepts, (accepted) =>
        Option.flatMap(Schema.decodeUnknownOption(OfferV2)(accepted), (offer) =>
          toOffer(offer, offer.amount, (signed) =>
            encodeHeader({ x402Version: 2, resource, accepted, payload: formatAuthorization(signed) })
          )
        )
      )
    )
  }
  const first = Schema.decodeOption(RequiredV1)(body)
  return Option.getOrNull(
    Option.flatMap(first, ({ accepts }) =>
      Array.findFirst(accepts, (accepted) =>
        Option.flatMap(Schema.decodeUnknownOption(OfferV1)(accepted), (offer) =>
          toOffer(offer, offer.maxAmountRequired, (signed) =>
            encodeHeader({
              x402Version: 1,
              scheme: "exact",
              network: offer.network,
              payload: formatAuthorization(signed)
            })
          )
        )
      )
    )
  )
}
