import { WalletNonceRepository } from "@berth/domain/signin/wallets/WalletNonceRepository"
import { DateTime, Effect } from "effect"
import { runHourlyTask } from "../jobs/HourlyTask.ts"

/** A nonce whose message is too old to be taken again need not be remembered. */
export const layer = runHourlyTask(
  {
    span: "WalletNonceRetention.run",
    task: "forget used wallet nonces",
    done: "Used wallet nonces were forgotten",
    kind: "nonces"
  },
  Effect.flatMap(Effect.all([WalletNonceRepository, DateTime.now]), ([repository, now]) =>
    repository.removeExpired(now)
  )
)
