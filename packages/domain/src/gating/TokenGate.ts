import { Cache, Duration, Effect, Exit } from "effect"
import { TokenBalances } from "../chain/TokenBalances.ts"
import { WalletAddress, normalizeWalletAddress } from "../chain/WalletAddress.ts"
import { GatingCheckFailed, GatingNotConfigured } from "./GatingErrors.ts"
import { GatingSettings } from "./GatingToken.ts"

/** Who has just bought the token should not wait long; who has it seldom sells it within a minute. */
const grantedFor = Duration.seconds(60)
const deniedFor = Duration.seconds(10)
const maximumRemembered = 10_000

/** Whether an address holds enough of the gating token. */
export class TokenGate extends Effect.Service<TokenGate>()("@berth/TokenGate", {
  effect: Effect.gen(function* () {
    const settings = yield* GatingSettings
    const balances = yield* TokenBalances

    const ask = Effect.fn("TokenGate.ask")(
      function* (key: string) {
        const token = yield* Effect.mapError(settings.token, () => new GatingNotConfigured())
        const holder = WalletAddress.make(key)
        const balance = yield* balances.balanceOf({ chain: token.chain, token: token.address, holder })
        return balance >= token.minBalance
      },
      Effect.catchTags({
        ChainUnreachable: ({ reason }) => new GatingCheckFailed({ reason }),
        TokenContractNotFound: () => new GatingCheckFailed({ reason: "there is no token at its address" })
      }),
      Effect.tapErrorTag("GatingCheckFailed", ({ reason }) =>
        Effect.logWarning("The gating token's balance could not be read").pipe(Effect.annotateLogs({ reason }))
      )
    )

    // Only answers are remembered. Calls for the same address at once ask the chain once.
    const answers = yield* Cache.makeWith({
      capacity: maximumRemembered,
      lookup: ask,
      timeToLive: Exit.match({
        onFailure: () => Duration.zero,
        onSuccess: (hasAccess) => (hasAccess ? grantedFor : deniedFor)
      })
    })

    const check = Effect.fn("TokenGate.check")(function* (address: WalletAddress) {
      const token = yield* Effect.mapError(settings.token, () => new GatingNotConfigured())
      const key = normalizeWalletAddress(address)
      // One caller that goes away must not take the answer from those who wait for the same one. A trouble is not kept for
      // even the moment that no time to live still is.
      const hasAccess = yield* answers.get(key).pipe(
        Effect.tapError(() => answers.invalidate(key)),
        Effect.uninterruptible
      )
      return { token, hasAccess, rpcEndpoint: settings.rpcEndpoint }
    })

    return { check }
  })
}) {}
