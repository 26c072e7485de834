import { Context } from "effect"

/** What pages of other origins may send to an endpoint and read of its answers (CORS). They bring no session with them. */
export interface CrossOriginAccess {
  readonly methods: ReadonlyArray<string>
  readonly requestHeaders: ReadonlyArray<string>
  readonly responseHeaders: ReadonlyArray<string>
  /** How long a browser may remember it. */
  readonly maxAgeSeconds: number
}

/** Annotates a group whose endpoints pages of any origin may call; null for all others. */
export class CrossOrigin extends Context.Reference<CrossOrigin>()("@berth/api/CrossOrigin", {
  defaultValue: (): CrossOriginAccess | null => null
}) {}
