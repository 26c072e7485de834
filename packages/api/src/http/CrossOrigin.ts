import { Context } from "effect"

/** CORS of an endpoint: methods, request headers and readable response headers, without credentials. */
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
