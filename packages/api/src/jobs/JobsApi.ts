import { QueueName } from "@berth/domain/jobs/Job"
import { DeadLetterIsUnknown } from "@berth/domain/jobs/DeadLetters"
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { errorBody } from "../http/ErrorBody.ts"
import { InternalAuth } from "../http/InternalAuth.ts"
import { pageLimit } from "../http/Page.ts"

/*
 * What an operator does about jobs that failed for good, on the private listener.
 */

export const DeadLetterIsUnknownBody = errorBody(DeadLetterIsUnknown, {
  status: 404,
  code: "dead_letter_not_found",
  error: "Not found",
  message: "No job with this id has failed for good.",
  read: () => new DeadLetterIsUnknown()
})

const dead = HttpApiEndpoint.get("dead", "/internal/jobs/dead")
  .setUrlParams(Schema.Struct({ queue: Schema.optional(QueueName), limit: pageLimit }))
  .addSuccess(
    Schema.Struct({
      jobs: Schema.Array(
        Schema.Struct({
          id: Schema.String,
          queue: QueueName,
          name: Schema.String,
          reason: Schema.String.annotations({ description: "Of the attempt that failed last" }),
          payload: Schema.Unknown
        })
      ),
      count: Schema.Int
    })
  )

const replay = HttpApiEndpoint.post("replay", "/internal/jobs/dead/:id/replay")
  .setPath(Schema.Struct({ id: Schema.String }))
  .addSuccess(Schema.Struct({ success: Schema.Boolean, queue: QueueName }))
  .addError(DeadLetterIsUnknownBody)

export class JobsApi extends HttpApiGroup.make("jobs").add(dead).add(replay).middlewareEndpoints(InternalAuth) {}
