import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { makeImageReference } from "@berth/domain/interaction/attachments/Attachment"
import { estimateTokens } from "@berth/domain/ai/prompt/TokenEstimate"
import type { Prompt } from "@berth/domain/ai/prompt/PromptFitting"
import { truncateToTokens, findNewestFitting, computeUsableWindow } from "@berth/domain/ai/prompt/PromptBudget"
import type { RuntimeAgent, Turn } from "@berth/domain/instances/AgentRuntime"
import { formatTimeText, parseZoneOrUtc } from "@berth/domain/skills/time/TimeText"
import type { DateTime } from "effect"
import { makeSkillPrompt } from "../skills/SkillPrompt.ts"

/** Shares of the context window. */
const memoriesShare = 0.1
const summaryShare = 0.2

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim()

/** Returns lines of memories, the most relevant first. */
const memoryLines = (memories: ReadonlyArray<string>, tokens: number): ReadonlyArray<string> => {
  const lines = memories.map(oneLine).flatMap((line) => (line === "" ? [] : [`- ${line}`]))
  const backwards = lines.map((line) => ({ tokens: estimateTokens(line) + 1 })).reverse()
  return lines.slice(0, lines.length - findNewestFitting(backwards, tokens))
}

const makeSystemMessage = (
  agent: RuntimeAgent,
  { memories, summary }: Pick<Turn, "memories" | "summary">,
  now: DateTime.Utc
): string => {
  const window = computeUsableWindow(agent.contextWindow)
  const known = memoryLines(memories, window * memoriesShare)
  const before = truncateToTokens((summary ?? "").trim(), window * summaryShare)
  return [
    `You are ${agent.name}, an agent that its owner runs on Berth.`,
    (agent.systemPrompt ?? "").trim(),
    // Minutes without seconds, so that provider caches match.
    `It is ${formatTimeText(now, parseZoneOrUtc(agent.timezone))}.`,
    makeSkillPrompt(agent.skills) ?? "",
    known.length === 0 ? "" : `What you know from earlier:\n${known.join("\n")}`,
    before === "" ? "" : `Earlier in this conversation:\n${before}`
  ]
    .filter((section) => section !== "")
    .join("\n\n")
}

const makeUserMessage = (content: string, images: ReadonlyArray<string> = []): ChatMessage =>
  images.length === 0
    ? { role: "user", content }
    : {
        role: "user",
        content,
        parts: [{ type: "text", text: content }, ...images.map(makeImageReference)]
      }

export const makeTurnPrompt = (
  agent: RuntimeAgent,
  turn: Pick<Turn, "history" | "images" | "message" | "memories" | "summary">,
  now: DateTime.Utc
): Prompt => ({
  system: { role: "system", content: makeSystemMessage(agent, turn, now) },
  history: turn.history.map(({ content, images, role }) =>
    role === "user" ? makeUserMessage(content, images) : { role, content }
  ),
  message: makeUserMessage(turn.message, turn.images),
  rounds: []
})
