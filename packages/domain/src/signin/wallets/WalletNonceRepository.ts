import { Context, type DateTime, type Effect } from "effect"

/** The nonces of wallet messages that have been used, hashed, for as long as such a message could come again. */
export class WalletNonceRepository extends Context.Tag("@berth/WalletNonceRepository")<
  WalletNonceRepository,
  {
    /**
     * Marks all of the hashes as used; false when one of them was. To be called in the transaction of what the nonce is
     * used for, which fails when it is false: of any number at once one gets true, the others wait for its end.
     */
    readonly consume: (hashes: ReadonlyArray<string>, expiresAt: DateTime.Utc) => Effect.Effect<boolean>
    readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
