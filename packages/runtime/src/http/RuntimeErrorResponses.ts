import { makeInvalidRequest, type RuntimeRejection } from "@berth/api/runtime/RuntimeErrors"
import { Data, ParseResult } from "effect"

/** A request is answered with an error before a stream begins. */
export class RequestRejected extends Data.TaggedError("RequestRejected")<{ readonly rejection: RuntimeRejection }> {}

/** Names the invalid fields without their values, which may be part of a conversation. */
export const rejectInvalidFields = (error: ParseResult.ParseError) =>
  new RequestRejected({
    rejection: makeInvalidRequest(
      ParseResult.ArrayFormatter.formatErrorSync(error)
        .slice(0, 10)
        .map(
          ({ _tag, path }) =>
            `${path.length === 0 ? "The body" : path.join(".")} is ${_tag === "Missing" ? "missing" : "not valid"}.`
        )
        .join(" ")
    )
  })
