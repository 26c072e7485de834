import type { ChatMessage, ToolCall } from "@berth/domain/ai/ModelChat"
import type { RuntimeAgent, Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { Effect, Stream } from "effect"
import { type ModelAnswer, ModelCallFailed, ModelCalls } from "../ai/ModelCalls.ts"
import { runTool, toolMessage } from "../skills/RunTool.ts"
import type { Tool } from "../skills/Tool.ts"
import { fitPrompt, type Prompt, type Round } from "./FitPrompt.ts"
import { promptBudget, toolTokens } from "./Prompt.ts"

/** Calls of the model in which it may use tools; the one after them must be the answer. */
export const mostRounds = 8
/** Tools that are run for one call of the model, and how many of them side by side. */
export const mostCalls = 16
const sideBySide = 8
/** Calls that are looked at, at all. */
const mostMentioned = 32
/** Characters of arguments that are taken from one call of the model, and of the reply of a turn. */
const mostArguments = 2 * 1024 * 1024
export const longestReply = 1_000_000

const tooMany = `It was not run: at most ${mostCalls} tools can be used at once. Ask for it again if it is still needed.`

const noMoreTools = "You have used tools as often as one turn allows. Answer now with what you have."

/** What one call of the model gave. */
interface Said {
  text: string
  readonly wanted: Array<ToolCall>
  argumentsLength: number
  model: string
}

/** Every call needs a name of its own, by which its result is found. */
const distinct = (calls: ReadonlyArray<ToolCall>, round: number): ReadonlyArray<ToolCall> => {
  const seen = new Set<string>()
  return calls.map((call, at) => {
    const id = call.id === "" || seen.has(call.id) ? `call_${round}_${at}` : call.id
    seen.add(id)
    return { ...call, id }
  })
}

const runAll = (tools: ReadonlyArray<Tool>, agent: RuntimeAgent, calls: ReadonlyArray<ToolCall>) =>
  Effect.map(
    Effect.forEach(calls.slice(0, mostCalls), (call) => runTool(tools, agent, call), { concurrency: sideBySide }),
    (results) => [...results, ...calls.slice(mostCalls).map((call) => toolMessage(call, tooMany))]
  )

/**
 * The rounds as plain messages: providers take calls and results of tools only beside the tools themselves, and the last
 * call of a turn has none.
 */
const asTold = (messages: ReadonlyArray<ChatMessage>): ReadonlyArray<ChatMessage> => [
  ...messages.flatMap((message): ReadonlyArray<ChatMessage> => {
    if (message.role === "tool")
      return [{ role: "user", content: `Result of ${message.toolName}:\n${message.content}` }]
    if (message.role !== "assistant" || message.toolCalls === undefined) return [message]
    return message.content.trim() === "" ? [] : [{ role: "assistant", content: message.content }]
  }),
  { role: "user", content: noMoreTools }
]

/** Room for the words around what is told plainly. */
const roomForWords = 128

/**
 * Answers a prompt, with as many rounds of tools as the model wants and a turn allows. Every round's text is passed on as
 * it comes; `done` has all of it, just as the pieces put together are.
 */
export const answerWithTools = (
  agent: RuntimeAgent,
  turn: Turn,
  prompt: Prompt,
  tools: ReadonlyArray<Tool>
): Stream.Stream<TurnEvent, ModelCallFailed, ModelCalls> => {
  const whole = promptBudget(agent.contextWindow, agent.maxTokens)
  // A model that has hardly room for a conversation does without.
  const specs = toolTokens(tools.map(({ spec }) => spec)) * 2 > whole ? [] : tools.map(({ spec }) => spec)
  const budget = whole - toolTokens(specs)

  const requestOf = (rounds: ReadonlyArray<Round>) => {
    const last = rounds.length === mostRounds
    return {
      agentId: agent.id,
      messageId: turn.messageId,
      model: agent.model,
      messages: last
        ? asTold(fitPrompt({ ...prompt, rounds }, budget - roomForWords))
        : fitPrompt({ ...prompt, rounds }, budget),
      tools: last ? [] : specs,
      temperature: agent.temperature,
      maxTokens: agent.maxTokens
    }
  }

  const round = (rounds: ReadonlyArray<Round>, before: string): Stream.Stream<TurnEvent, ModelCallFailed, ModelCalls> =>
    Stream.suspend(() => {
      const said: Said = { text: "", wanted: [], argumentsLength: 0, model: "" }
      const isTooLong = () => before.length + said.text.length > longestReply
      const pass = (event: ModelAnswer): ReadonlyArray<TurnEvent> => {
        if (event.type === "tool-call") {
          said.argumentsLength += event.call.arguments.length
          if (said.wanted.length < mostMentioned && said.argumentsLength <= mostArguments) said.wanted.push(event.call)
          return []
        }
        if (event.type === "done") {
          said.model = event.model
          return []
        }
        // What was said before a tool was used and what is said after it are paragraphs of one reply.
        const gap = said.text === "" && event.text !== "" && before !== "" && !before.endsWith("\n") ? "\n\n" : ""
        said.text += gap + event.text
        return gap === "" ? [event] : [{ type: "delta", text: gap }, event]
      }
      const after = Stream.suspend(() => {
        if (isTooLong()) return Stream.fail(new ModelCallFailed({ reason: "The model's answer had no end." }))
        const reply = before + said.text
        if (said.wanted.length === 0 || rounds.length === mostRounds)
          return Stream.make<[TurnEvent]>({ type: "done", reply, model: said.model })
        const calls = distinct(said.wanted, rounds.length)
        return Stream.unwrap(
          Effect.map(runAll(tools, agent, calls), (results) =>
            round([...rounds, [{ role: "assistant", content: said.text.trim(), toolCalls: calls }, ...results]], reply)
          )
        )
      })
      return Stream.unwrap(Effect.map(ModelCalls, (models) => models.answer(requestOf(rounds)))).pipe(
        Stream.takeWhile(() => !isTooLong()),
        Stream.mapConcat(pass),
        Stream.concat(after)
      )
    })

  return round([], "")
}
