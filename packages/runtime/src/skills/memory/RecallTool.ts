import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import { parseZoneOrUtc } from "@berth/domain/skills/time/TimeText"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { DateTime, Effect, Schema } from "effect"
import type { Memory } from "./Memory.ts"

const limit = 2_000

export const makeRecallTool = (memory: Memory["Type"]) =>
  Tool.make({
    name: "recall",
    description: "Finds what your notes and earlier conversations say about something.",
    parameters: Schema.Struct({
      query: Schema.String.annotations({ description: "A few telling words." })
    }),
    run: ({ query }, { id, timezone }: RuntimeAgent) =>
      memory.recall(id, query.trim().slice(0, limit)).pipe(
        Effect.map((found) =>
          found.length === 0
            ? "Nothing was found."
            : found
                .map(
                  ({ at, kind, text }) => `- ${dayOf(at, timezone)}, ${kind}: ${text.replaceAll(/\s+/g, " ").trim()}`
                )
                .join("\n")
        ),
        Effect.mapError(({ reason }) => new Tool.ToolFailed({ reason }))
      )
  })

/** `at` need not be a time that exists. */
const dayOf = (at: number, timezone: string): string =>
  DateTime.make(at).pipe((time) =>
    time._tag === "None" ? "once" : DateTime.formatIsoDate(DateTime.setZone(time.value, parseZoneOrUtc(timezone)))
  )
