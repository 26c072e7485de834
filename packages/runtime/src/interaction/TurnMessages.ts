import type { CellModelRequest } from "@berth/api/cell/CellContract"
import type { RuntimeAgent, Turn } from "@berth/domain/instances/AgentRuntime"
import { DateTime, Option } from "effect"

const zoneOf = (name: string) =>
  Option.getOrElse(DateTime.zoneMakeNamed(name), () => DateTime.zoneUnsafeMakeNamed("UTC"))

/** To the minute: seconds would only make the same question look new to a provider's cache. */
const timeOf = (now: DateTime.Utc, zone: DateTime.TimeZone.Named): string =>
  `${DateTime.format(now, {
    locale: "en-GB",
    timeZone: zone.id,
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23"
  })} (${zone.id})`

/** What a model is told for a turn: who it is, what its owner wants of it, what was said before, and the message. */
export const turnMessages = (
  agent: RuntimeAgent,
  turn: Pick<Turn, "history" | "message">,
  now: DateTime.Utc
): CellModelRequest["messages"] => [
  {
    role: "system",
    content: [
      `You are ${agent.name}, an agent that its owner runs on Berth.`,
      ...(agent.systemPrompt === null || agent.systemPrompt.trim() === "" ? [] : [agent.systemPrompt.trim()]),
      `It is ${timeOf(now, zoneOf(agent.timezone))}.`
    ].join("\n\n")
  },
  ...turn.history.map(({ content, role }) => ({ role, content })),
  { role: "user", content: turn.message }
]
