import { Context, type DateTime, type Effect, type Option } from "effect"
import type { ApiKeyId } from "../../sessions/ApiKeyScope.ts"
import type { User } from "../../shared/User.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { ApiKey } from "./ApiKey.ts"

export class ApiKeyRepository extends Context.Tag("@berth/ApiKeyRepository")<
  ApiKeyRepository,
  {
    readonly insert: (key: ApiKey, keyHash: string) => Effect.Effect<void>
    /** Returns the key, expired or not, with its owner unless the owner is suspended; one query. */
    readonly findByHash: (
      keyHash: string
    ) => Effect.Effect<Option.Option<{ readonly key: ApiKey; readonly user: User }>>
    /** Unexpired keys of owners who are not suspended. */
    readonly findActiveIds: (ids: ReadonlyArray<ApiKeyId>, now: DateTime.Utc) => Effect.Effect<ReadonlySet<ApiKeyId>>
    /** Newest first. */
    readonly listByUser: (
      userId: UserId,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<ReadonlyArray<ApiKey>>
    readonly countByUser: (userId: UserId) => Effect.Effect<number>
    /** Records the last use asynchronously, at most once per `apiKeyUseInterval`. */
    readonly recordUse: (id: ApiKeyId, at: DateTime.Utc) => Effect.Effect<void>
    /** False if the user has no such key. */
    readonly removeOwned: (userId: UserId, id: ApiKeyId) => Effect.Effect<boolean>
    /** Removes keys that were created at `since` or later. */
    readonly removeSince: (userId: UserId, since: DateTime.Utc) => Effect.Effect<void>
  }
>() {}
