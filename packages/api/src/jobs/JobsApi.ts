import { QueueName } from "@berth/domain/jobs/JobKind"
import { DeadLetterNotFound } from "@berth/domain/jobs/DeadLetters"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { plainErrorBody } from "../http/ErrorBody.ts"
import { InternalAuth } from "../http/InternalAuth.ts"
import { pageLimit } from "../http/Pagination.ts"

export const DeadLetterNotFoundBody = plainErrorBody(DeadLetterNotFound, {
  status: 404,
  error: "Not found",
  message: "No job with this id has failed permanently."
})

export const DeadLetterList = Schema.Struct({
  jobs: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      queue: QueueName,
      name: Schema.String,
      reason: Schema.String.annotations({ description: "Failure of the last attempt" }),
      payload: Schema.Unknown
    })
  ),
  count: Schema.Int
}).annotations({ identifier: "DeadLetters" })

const dead = HttpApiEndpoint.get("dead", "/internal/jobs/dead")
  .setUrlParams(Schema.Struct({ queue: Schema.optional(QueueName), limit: pageLimit }))
  .addSuccess(DeadLetterList)
  .annotate(OpenApi.Summary, "List dead letters")

const replay = HttpApiEndpoint.post("replay", "/internal/jobs/dead/:id/replay")
  .setPath(Schema.Struct({ id: Schema.String }))
  .addSuccess(Schema.Struct({ success: Schema.Boolean, queue: QueueName }))
  .addError(DeadLetterNotFoundBody)
  .annotate(OpenApi.Summary, "Replay a dead letter")

/** Dead letters, for operators, on the private listener. */
export class JobsApi extends HttpApiGroup.make("jobs").add(dead).add(replay).middlewareEndpoints(InternalAuth) {}
