import { Context } from "effect"

/** CORS of an endpoint: methods, request headers and readable response headers, without credentials. */
export interface CrossOriginAccess {
  readonly methods: ReadonlyArray<string>
  readonly requestHeaders: ReadonlyArray<string>
  readonly responseHeaders: ReadonlyArray<string>
  /** Time that a browser may cache the access. */
  readonly maxAgeSeconds: number
}

/** Annotates a group that pages of any origin may call; null otherwise. */
export class CrossOrigin extends Context.Reference<CrossOrigin>()("@berth/api/CrossOrigin", {
  defaultValue: (): CrossOriginAccess | null => null
}) {}
