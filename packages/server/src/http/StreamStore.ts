import type { HttpServerResponse } from "@effect/platform"
import { Context, type Effect, Option } from "effect"

/** Stores a complete streamed response for repetitions of its request; none without an `Idempotency-Key`. */
export class StreamStore extends Context.Reference<StreamStore>()("@berth/StreamStore", {
  defaultValue: (): Option.Option<(response: HttpServerResponse.HttpServerResponse) => Effect.Effect<void>> =>
    Option.none()
}) {}
