import { DateTime, Effect, Option } from "effect"
import * as Tool from "../tools/Tool.ts"
import { toolParameters } from "../tools/ToolParameters.ts"
import { formatTimeText, parseZoneOrUtc } from "./TimeText.ts"

/** The present moment, in words and as ISO 8601. */
export const currentTimeTool = Tool.make({
  name: "current_time",
  description: "Returns the current date and time.",
  parameters: toolParameters.current_time,
  run: ({ timezone }, caller: { readonly timezone: string }) =>
    Effect.gen(function* () {
      const zone =
        timezone === undefined || timezone === ""
          ? parseZoneOrUtc(caller.timezone)
          : yield* Option.match(DateTime.zoneMakeNamed(timezone), {
              onNone: () =>
                new Tool.ToolFailed({
                  reason: "There is no such time zone. Use an IANA name, for example Europe/London."
                }),
              onSome: Effect.succeed
            })
      const now = yield* DateTime.now
      const seconds = DateTime.formatIsoOffset(DateTime.setZone(now, zone)).replace(/\.\d+/, "")
      return `${formatTimeText(now, zone)}\n${seconds}`
    })
})
