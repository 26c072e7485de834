import { Effect, Stream } from "effect"
import { fitPrompt, type Prompt, type ToolRound } from "../../ai/prompt/PromptFitting.ts"
import type { ChatMessage, ToolCall, ToolSpec } from "../../ai/chat/ModelChat.ts"
import { computePromptBudget, estimateSerializedToolTokens } from "../../ai/prompt/PromptBudget.ts"
import { runTool, makeToolMessage } from "./ToolExecution.ts"
import type { Tool } from "./Tool.ts"

/** What a model gives to one call, piece by piece; `done` is its end. */
export type ModelRoundEvent =
  | { readonly type: "delta"; readonly text: string }
  | { readonly type: "tool-call"; readonly call: ToolCall }
  | { readonly type: "done"; readonly model: string }

/** Pieces of a reply, then `done` with all of it and the model that said its end. */
export type ToolRoundsEvent =
  | { readonly type: "delta"; readonly text: string }
  | { readonly type: "done"; readonly reply: string; readonly model: string }

export interface ToolRounds<Who, E, R> {
  readonly prompt: Prompt
  /** Whom the tools work for, and those he may use. */
  readonly who: Who
  readonly tools: ReadonlyArray<Tool<Who>>
  /** Tokens that the model takes at once, answer included, and those of an answer; null where nobody limited them. */
  readonly contextWindow: number
  readonly maxTokens: number | null
  /** Calls the model. It is offered no tools when it must answer. */
  readonly callModel: (
    messages: ReadonlyArray<ChatMessage>,
    tools: ReadonlyArray<ToolSpec>
  ) => Stream.Stream<ModelRoundEvent, E, R>
  /** Asked before every call: once it is no, that call must be the answer. By default only the rounds are counted. */
  readonly canContinue?: Effect.Effect<boolean>
  /** The failure of an answer that has no end. */
  readonly onUnterminated: () => E
}

/** Calls of the model in which it may use tools; the one after them must be the answer. */
export const maximumToolRounds = 8
/** Tools that are run for one call of the model, and how many of them side by side. */
export const maximumToolCalls = 16
const sideBySide = 8
/** Calls that are looked at, at all. */
const mostMentioned = 32
/** Characters of arguments that are taken from one call of the model, and of the reply of a turn. */
const mostArguments = 2 * 1024 * 1024
export const maximumReplyLength = 1_000_000

const tooMany = `It was not run: at most ${maximumToolCalls} tools can be used at once. Ask for it again if it is still needed.`

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

const runAll = <Who>(tools: ReadonlyArray<Tool<Who>>, who: Who, calls: ReadonlyArray<ToolCall>) =>
  Effect.map(
    Effect.forEach(calls.slice(0, maximumToolCalls), (call) => runTool(tools, who, call), { concurrency: sideBySide }),
    (results) => [...results, ...calls.slice(maximumToolCalls).map((call) => makeToolMessage(call, tooMany))]
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
 * Answers a prompt, with as many rounds of tools as the model wants and is allowed. Every round's text is passed on as it
 * comes; `done` has all of it, just as the pieces put together are.
 */
export const answerInRounds = <Who, E, R>({
  callModel,
  contextWindow,
  onUnterminated,
  maxTokens,
  canContinue = Effect.succeed(true),
  prompt,
  tools,
  who
}: ToolRounds<Who, E, R>): Stream.Stream<ToolRoundsEvent, E, R> => {
  const whole = computePromptBudget(contextWindow, maxTokens)
  // A model that has hardly room for a conversation does without.
  const specs =
    estimateSerializedToolTokens(tools.map(({ spec }) => spec)) * 2 > whole ? [] : tools.map(({ spec }) => spec)
  const budget = whole - estimateSerializedToolTokens(specs)

  const call = (rounds: ReadonlyArray<ToolRound>, last: boolean) =>
    last
      ? callModel(asTold(fitPrompt({ ...prompt, rounds }, budget - roomForWords)), [])
      : callModel(fitPrompt({ ...prompt, rounds }, budget), specs)

  const round = (rounds: ReadonlyArray<ToolRound>, before: string): Stream.Stream<ToolRoundsEvent, E, R> =>
    Stream.unwrap(
      Effect.map(canContinue, (may) => {
        // Nothing has to be told plainly before a tool was used.
        const last = rounds.length === maximumToolRounds || (!may && rounds.length > 0)
        const said: Said = { text: "", wanted: [], argumentsLength: 0, model: "" }
        const isTooLong = () => before.length + said.text.length > maximumReplyLength
        const pass = (event: ModelRoundEvent): ReadonlyArray<ToolRoundsEvent> => {
          if (event.type === "tool-call") {
            said.argumentsLength += event.call.arguments.length
            if (said.wanted.length < mostMentioned && said.argumentsLength <= mostArguments)
              said.wanted.push(event.call)
            return []
          }
          if (event.type === "done") {
            said.model = event.model
            return []
          }
          // What was said before a tool was used and what is said after it are paragraphs of one reply.
          const gap = said.text === "" && event.text !== "" && before !== "" && !before.endsWith("\n") ? "\n\n" : ""
          said.text += gap + event.text
          const piece = { type: "delta", text: event.text } as const
          return gap === "" ? [piece] : [{ type: "delta", text: gap }, piece]
        }
        const after = Stream.suspend(() => {
          if (isTooLong()) return Stream.fail(onUnterminated())
          const reply = before + said.text
          if (said.wanted.length === 0 || last)
            return Stream.make<[ToolRoundsEvent]>({ type: "done", reply, model: said.model })
          const calls = distinct(said.wanted, rounds.length)
          return Stream.unwrap(
            Effect.map(runAll(tools, who, calls), (results) =>
              round(
                [...rounds, [{ role: "assistant", content: said.text.trim(), toolCalls: calls }, ...results]],
                reply
              )
            )
          )
        })
        return call(rounds, last).pipe(
          Stream.takeWhile(() => !isTooLong()),
          Stream.mapConcat(pass),
          Stream.concat(after)
        )
      })
    )

  return round([], "")
}
