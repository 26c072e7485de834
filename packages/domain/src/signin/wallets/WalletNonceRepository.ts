import { Context, type DateTime, type Effect } from "effect"

/** Hashes of used nonces, kept until their messages expire. */
export class WalletNonceRepository extends Context.Tag("@berth/WalletNonceRepository")<
  WalletNonceRepository,
  {
    /**
     * Marks all hashes as used; false if any was used. Atomic: concurrent callers wait for the transaction; on false
     * the caller must fail it.
     */
    readonly consume: (hashes: ReadonlyArray<string>, expiresAt: DateTime.Utc) => Effect.Effect<boolean>
    readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
