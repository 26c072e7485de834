import { estimateTokens } from "@berth/domain/ai/EstimateTokens"
import type { Prompt } from "@berth/domain/ai/FitPrompt"
import { cutToTokens, newestThatFit, usableWindow } from "@berth/domain/ai/Prompt"
import type { RuntimeAgent, Turn } from "@berth/domain/instances/AgentRuntime"
import { timeText, zoneOrUtc } from "@berth/domain/skills/time/TimeText"
import type { DateTime } from "effect"
import { skillPrompt } from "../skills/SkillPrompt.ts"

/** Shares of the window that memories and the summary may fill. */
const memoriesShare = 0.1
const summaryShare = 0.2

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim()

/** The first memories, as many as there is room for: the most telling come first. */
const memoryLines = (memories: ReadonlyArray<string>, tokens: number): ReadonlyArray<string> => {
  const lines = memories.map(oneLine).flatMap((line) => (line === "" ? [] : [`- ${line}`]))
  const backwards = lines.map((line) => ({ tokens: estimateTokens(line) + 1 })).reverse()
  return lines.slice(0, lines.length - newestThatFit(backwards, tokens))
}

/** What a model is told of who it is, what its owner wants of it, what it can do, and what it knows. */
export const systemMessage = (
  agent: RuntimeAgent,
  { memories, summary }: Pick<Turn, "memories" | "summary">,
  now: DateTime.Utc
): string => {
  const window = usableWindow(agent.contextWindow)
  const known = memoryLines(memories, window * memoriesShare)
  const before = cutToTokens((summary ?? "").trim(), window * summaryShare)
  return [
    `You are ${agent.name}, an agent that its owner runs on Berth.`,
    (agent.systemPrompt ?? "").trim(),
    // To the minute: seconds would only make the same question look new to a provider's cache.
    `It is ${timeText(now, zoneOrUtc(agent.timezone))}.`,
    skillPrompt(agent.skills) ?? "",
    known.length === 0 ? "" : `What you know from earlier:\n${known.join("\n")}`,
    before === "" ? "" : `Earlier in this conversation:\n${before}`
  ]
    .filter((section) => section !== "")
    .join("\n\n")
}

/** What a model is told for a turn: the system message, what was said before, and the message. */
export const turnPrompt = (
  agent: RuntimeAgent,
  turn: Pick<Turn, "history" | "message" | "memories" | "summary">,
  now: DateTime.Utc
): Prompt => ({
  system: { role: "system", content: systemMessage(agent, turn, now) },
  history: turn.history.map(({ content, role }) => ({ role, content })),
  message: { role: "user", content: turn.message },
  rounds: []
})
