import { BackendApi } from "@berth/api/BackendApi"
import { DeadLetters } from "@berth/domain/jobs/DeadLetters"
import { Effect, Option } from "effect"
import { group } from "../http/ApiGroup.ts"

export const layer = group(BackendApi, "jobs", (handlers) =>
  Effect.map(DeadLetters, (letters) =>
    handlers
      .handle("dead", ({ urlParams: { limit, queue } }) =>
        Effect.map(letters.list(Option.fromNullable(queue), limit), (jobs) => ({ jobs, count: jobs.length }))
      )
      .handle("replay", ({ path: { id } }) => Effect.map(letters.replay(id), (queue) => ({ success: true, queue })))
  )
)
