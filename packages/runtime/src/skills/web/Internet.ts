import { Context, Data, type Effect, type Scope, type Stream } from "effect"

/** The other side was not reached, or stopped; the reason is a sentence. */
export class HostUnreachable extends Data.TaggedError("HostUnreachable")<{ readonly reason: string }> {}

export interface WebPageResponse {
  readonly status: number
  /** Null where there is none. */
  readonly header: (name: string) => string | null
  /** As it was before its transfer was coded; ends with the scope. */
  readonly body: Stream.Stream<Uint8Array, HostUnreachable>
}

/** The network, in the two steps between which it is decided whether to connect at all. */
export class Internet extends Context.Tag("@berth/runtime/Internet")<
  Internet,
  {
    /** Every address of a host; one that is an address itself has that. */
    readonly resolve: (host: string) => Effect.Effect<ReadonlyArray<string>, HostUnreachable>
    /** The addresses of this machine itself. */
    readonly ownAddresses: Effect.Effect<ReadonlyArray<string>>
    /** Asks for a page at one of these addresses and no other, whatever a name may have become meanwhile. Follows no redirect. */
    readonly get: (
      url: URL,
      addresses: ReadonlyArray<string>
    ) => Effect.Effect<WebPageResponse, HostUnreachable, Scope.Scope>
  }
>() {}
