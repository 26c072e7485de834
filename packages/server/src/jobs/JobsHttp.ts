import { BackendApi } from "@berth/api/BackendApi"
import { DeadLetters } from "@berth/domain/jobs/DeadLetters"
import { HttpApiBuilder } from "@effect/platform"
import { Effect, Option } from "effect"

export const layer = HttpApiBuilder.group(BackendApi, "jobs", (handlers) =>
  Effect.map(DeadLetters, (letters) =>
    handlers
      .handle("dead", ({ urlParams: { limit, queue } }) =>
        Effect.map(letters.list(Option.fromNullable(queue), limit), (jobs) => ({ jobs, count: jobs.length }))
      )
      .handle("replay", ({ path: { id } }) => Effect.map(letters.replay(id), (queue) => ({ success: true, queue })))
  )
)
