import type { RuntimeModelEvent, RuntimeModelRequest } from "@berth/api/runtime/RuntimeContract"
import { Context, Data, type Stream } from "effect"

/** The reason is a sentence for the user. `isBudgetExhausted`: the turn ends here, with its text so far. */
export class ModelCallFailed extends Data.TaggedError("ModelCallFailed")<{
  readonly reason: string
  readonly isBudgetExhausted?: boolean
}> {}

export type ModelAnswer = Exclude<RuntimeModelEvent, { readonly type: "error" }>

export class ModelClient extends Context.Tag("@berth/runtime/ModelClient")<
  ModelClient,
  {
    /** Ends with `done`, or fails. */
    readonly answer: (request: RuntimeModelRequest) => Stream.Stream<ModelAnswer, ModelCallFailed>
  }
>() {}
