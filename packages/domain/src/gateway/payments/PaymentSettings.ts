import { Context, type Redacted } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"

/** To whom machines pay, in what, and where. */
export class PaymentSettings extends Context.Tag("@berth/PaymentSettings")<
  PaymentSettings,
  {
    /** What a challenge protects: the public host, with its port when that is not the scheme's. */
    readonly realm: string
    /** EIP-155 id of a Tempo chain. */
    readonly chainId: number
    /** A TIP-20 token; all of them have six decimals. */
    readonly currency: WalletAddress
    readonly recipient: WalletAddress
    /** Signs challenges. */
    readonly secret: Redacted.Redacted
  }
>() {}
