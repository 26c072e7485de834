import { Effect, Fiber } from "effect"
import { AiSettings } from "./calls/AiSettings.ts"
import type { ProviderName } from "./models/Model.ts"
import { AiServiceUnavailable } from "./models/ModelErrors.ts"
import { ModelProviders } from "./models/ModelProviders.ts"

/** Reachability of each configured provider. */
type ProviderHealth = { readonly [name in ProviderName]?: boolean }

interface AiHealth {
  readonly status: "healthy" | "degraded"
  readonly providers: ProviderHealth
}

export const makeAiHealth = Effect.gen(function* () {
  const { all: configured } = yield* ModelProviders
  const settings = yield* AiSettings
  const scope = yield* Effect.scope

  const checkAll = Effect.forEach(
    configured,
    (provider) =>
      provider.healthy.pipe(
        Effect.timeoutTo({
          duration: settings.healthTimeout,
          onSuccess: (healthy) => healthy,
          onTimeout: () => false
        }),
        Effect.map((healthy) => [provider.name, healthy] as const)
      ),
    { concurrency: "unbounded" }
  ).pipe(
    Effect.map((answers): ProviderHealth => Object.fromEntries(answers)),
    Effect.withSpan("AiLayer.checkHealth")
  )
  const shared = yield* Effect.cachedWithTTL(checkAll, settings.healthTtl)

  return {
    /** Health of the configured providers, cached for `healthTtl`. */
    health: Effect.fn("AiLayer.health")(function* (): Effect.fn.Return<AiHealth, AiServiceUnavailable> {
      // The fiber belongs to the layer, so that an interrupted caller does not interrupt the check for others.
      const providers = yield* Effect.flatMap(Effect.forkIn(shared, scope), Fiber.join)
      const answers = Object.values(providers)
      if (!answers.includes(true)) return yield* new AiServiceUnavailable({ providers })
      return { status: answers.includes(false) ? "degraded" : "healthy", providers }
    })
  }
})
