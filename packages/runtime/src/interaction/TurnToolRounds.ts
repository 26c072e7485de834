import type { Prompt } from "@berth/domain/ai/prompt/PromptFitting"
import type { RuntimeAgent, Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { answerInRounds } from "@berth/domain/skills/tools/ToolRounds"
import { Effect, Stream } from "effect"
import { ModelCallFailed, ModelClient } from "../ai/ModelClient.ts"
import type { AgentTool } from "../skills/Toolbox.ts"

/** Lets the agent's model answer a prompt, with as many rounds of the agent's tools as it wants and a turn allows. */
export const answerWithTools = (
  agent: RuntimeAgent,
  turn: Turn,
  prompt: Prompt,
  tools: ReadonlyArray<AgentTool>
): Stream.Stream<TurnEvent, ModelCallFailed, ModelClient> =>
  Stream.unwrap(
    Effect.map(ModelClient, (models) =>
      answerInRounds({
        prompt,
        tools,
        who: agent,
        contextWindow: agent.contextWindow,
        maxTokens: agent.maxTokens,
        callModel: (messages, specs) =>
          models.answer({
            agentId: agent.id,
            messageId: turn.messageId,
            model: agent.model,
            messages,
            tools: specs,
            temperature: agent.temperature,
            maxTokens: agent.maxTokens
          }),
        onUnterminated: () => new ModelCallFailed({ reason: "The model's answer had no end." })
      })
    )
  )
