import { Cache, Duration, Effect, Exit } from "effect"
import { TokenBalances } from "../chain/TokenBalances.ts"
import { WalletAddress, normalizeWalletAddress } from "../chain/WalletAddress.ts"
import { GatingCheckFailed, GatingNotConfigured } from "./GatingErrors.ts"
import { GatingSettings } from "./GatingToken.ts"

/** Negative results expire sooner, so that a new holder soon has access. */
const positiveLifetime = Duration.seconds(60)
const negativeLifetime = Duration.seconds(10)
const cacheCapacity = 10_000

/** Checks whether an address holds enough of the gating token. Results are cached. */
export class TokenGate extends Effect.Service<TokenGate>()("@berth/TokenGate", {
  effect: Effect.gen(function* () {
    const settings = yield* GatingSettings
    const balances = yield* TokenBalances

    const readAccess = Effect.fn("TokenGate.readAccess")(
      function* (key: string) {
        const token = yield* Effect.mapError(settings.token, () => new GatingNotConfigured())
        const holder = WalletAddress.make(key)
        const balance = yield* balances.balanceOf({ chain: token.chain, token: token.address, holder })
        return balance >= token.minBalance
      },
      Effect.catchTags({
        ChainUnreachable: ({ reason }) => new GatingCheckFailed({ reason }),
        TokenContractNotFound: () => new GatingCheckFailed({ reason: "no token contract at the address" })
      }),
      Effect.tapErrorTag("GatingCheckFailed", ({ reason }) =>
        Effect.logWarning("Gating token balance unavailable").pipe(Effect.annotateLogs({ reason }))
      )
    )

    const results = yield* Cache.makeWith({
      capacity: cacheCapacity,
      lookup: readAccess,
      timeToLive: Exit.match({
        onFailure: () => Duration.zero,
        onSuccess: (hasAccess) => (hasAccess ? positiveLifetime : negativeLifetime)
      })
    })

    const check = Effect.fn("TokenGate.check")(function* (address: WalletAddress) {
      const token = yield* Effect.mapError(settings.token, () => new GatingNotConfigured())
      const key = normalizeWalletAddress(address)
      // Uninterruptible, since concurrent callers share a lookup. A failure is invalidated, since a zero lifetime still
      // lasts a millisecond.
      const hasAccess = yield* results.get(key).pipe(
        Effect.tapError(() => results.invalidate(key)),
        Effect.uninterruptible
      )
      return { token, hasAccess, rpcEndpoint: settings.rpcEndpoint }
    })

    return { check }
  })
}) {}
