import { BackendApi } from "@berth/api/BackendApi"
import { WalletCalls } from "@berth/domain/wallets/payments/WalletCalls"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { makeOwnTurn } from "./OwnTurn.ts"

export const layer = group(BackendApi, "runtimeWallet", (handlers) =>
  Effect.gen(function* () {
    const calls = yield* WalletCalls
    const own = yield* makeOwnTurn

    return handlers.handle("call", ({ payload: { call, ...of } }) =>
      Effect.gen(function* () {
        const turn = yield* own(of)
        const text = yield* call.action === "get_balance"
          ? calls.getBalance(turn)
          : call.action === "send_usdc"
            ? calls.sendUsdc(turn, call)
            : calls.fetchPaid(turn, call)
        return { text }
      }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
    )
  })
)
