import { Context, Data, type Effect, type Scope, type Stream } from "effect"

/** The reason is a sentence. */
export class HostUnreachable extends Data.TaggedError("HostUnreachable")<{ readonly reason: string }> {}

export interface WebPageResponse {
  readonly status: number
  readonly header: (name: string) => string | null
  /** Decoded; ends with the scope. */
  readonly body: Stream.Stream<Uint8Array, HostUnreachable>
}

/** Resolution and connection are separate steps, so that addresses are checked in between. */
export class Internet extends Context.Tag("@berth/runtime/Internet")<
  Internet,
  {
    /** Every address of a host; a literal address is its own. */
    readonly resolve: (host: string) => Effect.Effect<ReadonlyArray<string>, HostUnreachable>
    readonly ownAddresses: Effect.Effect<ReadonlyArray<string>>
    /** Connects to the given addresses only, against DNS rebinding. Follows no redirect. */
    readonly get: (
      url: URL,
      addresses: ReadonlyArray<string>
    ) => Effect.Effect<WebPageResponse, HostUnreachable, Scope.Scope>
  }
>() {}
