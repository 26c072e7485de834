import { WalletNonceRepository } from "@berth/domain/signin/WalletNonceRepository"
import { DateTime, Effect } from "effect"
import { hourly } from "../jobs/Hourly.ts"

/** A nonce whose message is too old to be taken again need not be remembered. */
export const layer = hourly(
  {
    span: "UsedWalletNonces.sweep",
    task: "forget used wallet nonces",
    done: "Used wallet nonces were forgotten",
    kind: "nonces"
  },
  Effect.flatMap(Effect.all([WalletNonceRepository, DateTime.now]), ([repository, now]) =>
    repository.removeExpired(now)
  )
)
