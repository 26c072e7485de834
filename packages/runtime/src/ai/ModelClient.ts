import type { RuntimeModelEvent, RuntimeModelRequest } from "@berth/api/runtime/RuntimeContract"
import type { ChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { Context, Data, type Effect, type Scope } from "effect"

/** The reason is a sentence for the user. `isBudgetExhausted`: the turn ends with its text so far. */
export class ModelCallFailed extends Data.TaggedError("ModelCallFailed")<{
  readonly reason: string
  readonly isBudgetExhausted?: boolean
}> {}

export type ModelAnswer = Exclude<RuntimeModelEvent, { readonly type: "error" }>

export class ModelClient extends Context.Tag("@berth/runtime/ModelClient")<
  ModelClient,
  {
    /** Returns the events until `done`. Closing the scope ends the call. */
    readonly answer: (
      request: RuntimeModelRequest
    ) => Effect.Effect<ChunkSource<ModelAnswer, ModelCallFailed>, ModelCallFailed, Scope.Scope>
  }
>() {}
