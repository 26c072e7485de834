import type { OwnableProvider } from "@berth/domain/ai/keys/OwnerKeys"
import { Cache, Effect, Equal, Hash, Redacted } from "effect"
import { createHmac, randomBytes } from "node:crypto"

const capacity = 500
const timeToLive = "1 hour"

/** Cache key; equal for equal provider and key. */
class ProviderKey<Name extends OwnableProvider> implements Equal.Equal {
  readonly id: string
  readonly name: Name
  readonly key: Redacted.Redacted
  constructor(id: string, name: Name, key: Redacted.Redacted) {
    this.id = id
    this.name = name
    this.key = key
  }
  [Equal.symbol](that: unknown): boolean {
    return that instanceof ProviderKey && that.id === this.id
  }
  [Hash.symbol](): number {
    return Hash.string(this.id)
  }
}

/** Makes and caches providers with owners' keys. */
export const makeOwnerKeyProviders = Effect.fnUntraced(function* <Name extends OwnableProvider, Provider>(
  make: (name: Name, key: Redacted.Redacted) => Provider
): Effect.fn.Return<
  (name: Name, key: Redacted.Redacted) => Effect.Effect<{ readonly keyId: string; readonly provider: Provider }>
> {
  // Random per process, so that a leaked digest cannot be checked against keys.
  const secret = yield* Effect.sync(() => randomBytes(32))
  const cache = yield* Cache.make({
    capacity,
    timeToLive,
    lookup: ({ key, name }: ProviderKey<Name>) => Effect.sync(() => make(name, key))
  })
  return (name, key) => {
    const keyId = createHmac("sha256", secret).update(name).update("\0").update(Redacted.value(key)).digest("hex")
    return Effect.map(cache.get(new ProviderKey(keyId, name, key)), (provider) => ({ keyId, provider }))
  }
})
