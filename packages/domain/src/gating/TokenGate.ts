import { Cache, Context, Data, Duration, Effect, Exit, type Option } from "effect"
import { TokenBalances } from "../chain/TokenBalances.ts"
import { normalizeWalletAddress, WalletAddress } from "../chain/WalletAddress.ts"

/** Token and minimum balance for gated access. */
export interface GatingToken {
  readonly address: WalletAddress
  readonly symbol: string
  readonly chain: "base"
  /** In the token's smallest units. */
  readonly minBalance: bigint
}

export class GatingSettings extends Context.Tag("@berth/GatingSettings")<
  GatingSettings,
  {
    readonly token: Option.Option<GatingToken>
    /** Origin of the RPC endpoint; path and query may contain a key. */
    readonly rpcEndpoint: string
  }
>() {}

export class GatingNotConfigured extends Data.TaggedError("GatingNotConfigured")<object> {}
export class GatingCheckFailed extends Data.TaggedError("GatingCheckFailed")<{ readonly reason: string }> {}

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
