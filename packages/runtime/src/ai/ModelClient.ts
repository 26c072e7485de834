import type { RuntimeModelEvent, RuntimeModelRequest } from "@berth/api/runtime/RuntimeContract"
import { Context, Data, type Stream } from "effect"

/** The model gave no whole answer; the reason is a sentence for the person who is waiting for it. */
export class ModelCallFailed extends Data.TaggedError("ModelCallFailed")<{ readonly reason: string }> {}

export type ModelAnswer = Exclude<RuntimeModelEvent, { readonly type: "error" }>

/** The models, as a cell knows them: something that answers a list of messages, piece by piece. */
export class ModelClient extends Context.Tag("@berth/runtime/ModelClient")<
  ModelClient,
  {
    /** Ends with `done`, or fails. */
    readonly answer: (request: RuntimeModelRequest) => Stream.Stream<ModelAnswer, ModelCallFailed>
  }
>() {}
