import { parseZoneOrUtc } from "@berth/domain/skills/time/TimeText"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { maximumMemoryText, toolParameters } from "@berth/domain/skills/tools/ToolParameters"
import { DateTime, Effect } from "effect"
import type { TurnAgent } from "../Toolbox.ts"
import type { Memory } from "./Memory.ts"

export const makeRememberTool = (memory: Memory["Type"]) =>
  Tool.make({
    name: "remember",
    description: "Keeps a note that you will have in later conversations.",
    parameters: toolParameters.remember,
    run: ({ text }, turn: TurnAgent) => {
      const note = text.trim()
      if (note === "") return new Tool.ToolFailed({ reason: "The note is empty." })
      if (note.length > maximumMemoryText)
        return new Tool.ToolFailed({ reason: `The note is longer than ${maximumMemoryText} characters.` })
      return Effect.as(memory.note(turn, note), "It is noted.")
    }
  })

export const makeRecallTool = (memory: Memory["Type"]) =>
  Tool.make({
    name: "recall",
    description: "Searches your notes and earlier conversations.",
    parameters: toolParameters.recall,
    run: ({ query }, turn: TurnAgent) =>
      Effect.map(memory.recall(turn, query.trim().slice(0, maximumMemoryText)), (found) =>
        found.length === 0
          ? "Nothing was found."
          : found
              .map(
                ({ at, kind, text }) =>
                  `- ${formatDay(at, turn.timezone)}, ${kind}: ${text.replaceAll(/\s+/g, " ").trim()}`
              )
              .join("\n")
      )
  })

/** `at` is not trusted and can be out of range. */
const formatDay = (at: number, timezone: string): string =>
  DateTime.make(at).pipe((time) =>
    time._tag === "None" ? "once" : DateTime.formatIsoDate(DateTime.setZone(time.value, parseZoneOrUtc(timezone)))
  )
