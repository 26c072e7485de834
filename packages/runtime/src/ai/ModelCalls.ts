import type { CellModelEvent, CellModelRequest } from "@berth/api/cell/CellContract"
import { Context, Data, type Stream } from "effect"

/** The model gave no whole answer; the reason is a sentence for the person who is waiting for it. */
export class ModelCallFailed extends Data.TaggedError("ModelCallFailed")<{ readonly reason: string }> {}

export type ModelAnswer = Exclude<CellModelEvent, { readonly type: "error" }>

/** The models, as a cell knows them: something that answers a list of messages, piece by piece. */
export class ModelCalls extends Context.Tag("@berth/runtime/ModelCalls")<
  ModelCalls,
  {
    /** Ends with `done`, or fails. */
    readonly answer: (request: CellModelRequest) => Stream.Stream<ModelAnswer, ModelCallFailed>
  }
>() {}
