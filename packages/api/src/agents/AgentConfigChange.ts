import { Channel } from "@berth/domain/shared/Channel"
import { hasTime, isTimezone, noTimeReason, parseCron } from "@berth/domain/shared/CronTimes"
import { Either, Schema } from "effect"
import { ModelName, namesFirstItem, refusesUnknownMembers } from "../http/Payload.ts"

/** Optional but never `undefined`. */
const exactly = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optionalWith(schema, { exact: true })

/** An agent's configuration as its owner sets it. Unknown members are rejected. */
export const AgentConfigChange = Schema.Struct({
  model: exactly(ModelName),
  customModel: exactly(Schema.NullOr(ModelName)),
  channels: exactly(Schema.Array(Channel).annotations(namesFirstItem).pipe(Schema.maxItems(Channel.literals.length))),
  skills: exactly(
    Schema.Array(Schema.String.pipe(Schema.maxLength(64)))
      .annotations(namesFirstItem)
      .pipe(Schema.maxItems(64))
  ),
  systemPrompt: exactly(Schema.NullOr(Schema.String.pipe(Schema.maxLength(20_000)))),
  temperature: exactly(Schema.NullOr(Schema.Number.pipe(Schema.between(0, 2)))),
  maxTokens: exactly(Schema.NullOr(Schema.Int.pipe(Schema.between(1, 1_000_000)))),
  timezone: exactly(
    Schema.String.pipe(
      Schema.filter(isTimezone, { message: () => "must be an IANA time zone, for example Europe/London" })
    )
  ),
  heartbeat: exactly(
    Schema.NullOr(
      Schema.String.pipe(
        Schema.filter((text) =>
          Either.match(parseCron(text, "UTC"), {
            onLeft: () => "must be a cron expression or null",
            onRight: (times) => hasTime(times) || noTimeReason
          })
        )
      )
    )
  )
}).annotations({ identifier: "AgentConfigChange", ...refusesUnknownMembers })
