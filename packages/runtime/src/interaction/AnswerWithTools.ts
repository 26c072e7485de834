import type { Prompt } from "@berth/domain/ai/FitPrompt"
import type { RuntimeAgent, Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { answerInRounds } from "@berth/domain/skills/ToolRounds"
import { Effect, Stream } from "effect"
import { ModelCallFailed, ModelCalls } from "../ai/ModelCalls.ts"
import type { AgentTool } from "../skills/Toolbox.ts"

/** Lets the agent's model answer a prompt, with as many rounds of the agent's tools as it wants and a turn allows. */
export const answerWithTools = (
  agent: RuntimeAgent,
  turn: Turn,
  prompt: Prompt,
  tools: ReadonlyArray<AgentTool>
): Stream.Stream<TurnEvent, ModelCallFailed, ModelCalls> =>
  Stream.unwrap(
    Effect.map(ModelCalls, (models) =>
      answerInRounds({
        prompt,
        tools,
        who: agent,
        contextWindow: agent.contextWindow,
        maxTokens: agent.maxTokens,
        ask: (messages, specs) =>
          models.answer({
            agentId: agent.id,
            messageId: turn.messageId,
            model: agent.model,
            messages,
            tools: specs,
            temperature: agent.temperature,
            maxTokens: agent.maxTokens
          }),
        endless: () => new ModelCallFailed({ reason: "The model's answer had no end." })
      })
    )
  )
