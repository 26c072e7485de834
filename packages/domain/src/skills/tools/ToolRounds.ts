import { Context, Effect, Scope } from "effect"
import { fitPrompt, type Prompt, type ToolRound } from "../../ai/prompt/PromptFitting.ts"
import type { ChatMessage, ToolCall, ToolSpec } from "../../ai/chat/ModelChat.ts"
import { computePromptBudget, estimateSerializedToolTokens } from "../../ai/prompt/PromptBudget.ts"
import { type ChunkBatch, type ChunkSource, makeSingleChunkSource } from "../../ai/streams/ChunkSource.ts"
import type { ModelDelta, ModelEvent } from "../../ai/streams/ModelEvent.ts"
import { provideDirectly } from "../../shared/HotPath.ts"
import type { ToolActivity } from "./ToolActivity.ts"
import { runTool, makeToolMessage, type ToolResult } from "./ToolExecution.ts"
import type { Tool } from "./Tool.ts"

interface ToolRounds<Caller, End, E, Report = never> {
  readonly prompt: Prompt
  readonly caller: Caller
  readonly tools: ReadonlyArray<Tool<Caller>>
  /** Tokens: of a prompt with its answer, and of the answer; null without a limit. */
  readonly contextWindow: number
  readonly maxTokens: number | null
  /** `tools` is empty if the call must produce the answer. */
  readonly callModel: (
    messages: ReadonlyArray<ChatMessage>,
    tools: ReadonlyArray<ToolSpec>
  ) => Effect.Effect<ChunkSource<ModelEvent<object>, E>, E, Scope.Scope>
  /** Checked before every call; on false, that call is the last. Default: only the rounds are limited. */
  readonly canContinue?: Effect.Effect<boolean>
  /** Event to report before and after a tool call. Default: none. */
  readonly makeReport?: ((activity: ToolActivity) => Report) | undefined
  readonly onUnterminated: () => E
  /** Makes the last event from the complete text. */
  readonly makeEnd: (reply: string) => Effect.Effect<End>
}

/** Maximum model calls with tools; the next call must produce the answer. */
const maximumToolRounds = 8
/** Maximum tools to run per model call, and their concurrency. */
const maximumToolCalls = 16
const toolConcurrency = 8
/** Maximum tool calls to read per model call. */
const maximumReadCalls = 32
/** Maximum characters of arguments per model call, and of a reply. */
const maximumArguments = 2 * 1024 * 1024
export const maximumReplyLength = 1_000_000

const tooMany = `It was not run: at most ${maximumToolCalls} tools can be used at once. Ask for it again if it is still needed.`

const noMoreTools = "You have used tools as often as one turn allows. Answer now with what you have."

interface CallOutput {
  text: string
  readonly toolCalls: Array<ToolCall>
  argumentsLength: number
}

/** Results refer to unique call ids. */
const distinct = (calls: ReadonlyArray<ToolCall>, round: number): ReadonlyArray<ToolCall> => {
  const seen = new Set<string>()
  return calls.map((call, at) => {
    const id = call.id === "" || seen.has(call.id) ? `call_${round}_${at}` : call.id
    seen.add(id)
    return { ...call, id }
  })
}

const runAll = <Caller>(tools: ReadonlyArray<Tool<Caller>>, caller: Caller, calls: ReadonlyArray<ToolCall>) =>
  Effect.map(
    Effect.forEach(calls.slice(0, maximumToolCalls), (call) => runTool(tools, caller, call), {
      concurrency: toolConcurrency
    }),
    (results): ReadonlyArray<ToolResult> => [
      ...results,
      ...calls.slice(maximumToolCalls).map((call) => ({ message: makeToolMessage(call, tooMany), hasSucceeded: false }))
    ]
  )

/**
 * The last call has no tools, and providers reject tool messages without tools, so the rounds become plain messages.
 */
const toPlainMessages = (messages: ReadonlyArray<ChatMessage>): ReadonlyArray<ChatMessage> => [
  ...messages.flatMap((message): ReadonlyArray<ChatMessage> => {
    if (message.role === "tool")
      return [{ role: "user", content: `Result of ${message.toolName}:\n${message.content}` }]
    if (message.role !== "assistant" || message.toolCalls === undefined) return [message]
    return message.content.trim() === "" ? [] : [{ role: "assistant", content: message.content }]
  }),
  { role: "user", content: noMoreTools }
]

/** Tokens for the text around plain rounds. */
const plainRoundsTokens = 128

/** A step between two batches; returns the next step. */
type Step<E> = Effect.Effect<Step<E> | null, E>

/**
 * Answers a prompt in rounds of tools. Deltas are streamed; the end repeats their complete text. Closing the scope ends
 * the calls.
 */
export const answerInRounds = <Caller, End, E, Report = never>({
  caller,
  callModel,
  contextWindow,
  makeEnd,
  makeReport,
  onUnterminated,
  maxTokens,
  canContinue = Effect.succeed(true),
  prompt,
  tools
}: ToolRounds<Caller, End, E, Report>): Effect.Effect<
  ChunkSource<ModelDelta | Report | End, E>,
  never,
  Scope.Scope
> => {
  const whole = computePromptBudget(contextWindow, maxTokens)
  // A small context window excludes tools.
  const specs =
    estimateSerializedToolTokens(tools.map(({ spec }) => spec)) * 2 > whole ? [] : tools.map(({ spec }) => spec)
  const budget = whole - estimateSerializedToolTokens(specs)

  return Effect.map(Effect.scope, (scope) => {
    let rounds: ReadonlyArray<ToolRound> = []
    /** Text of the previous rounds. */
    let before = ""
    let isLast = false
    let output: CallOutput = { text: "", toolCalls: [], argumentsLength: 0 }
    let call: ChunkSource<ModelEvent<object>, E> = makeSingleChunkSource([])
    let end: ChunkBatch<ModelDelta | Report | End, E> | null = null
    let reports: ReadonlyArray<Report> = []

    const isTooLong = () => before.length + output.text.length > maximumReplyLength
    const finish = (values: ReadonlyArray<ModelDelta | End>, failure?: E) => {
      end = { values, isDone: true, failure }
    }

    const report = (calls: ReadonlyArray<ToolCall>, results?: ReadonlyArray<ToolResult>) => {
      if (makeReport === undefined) return
      const added = calls.map(({ arguments: text, name }, at) => {
        const result = results?.[at]
        return makeReport({
          id: `${rounds.length}.${at}`,
          name,
          arguments: text,
          status: result === undefined ? "running" : result.hasSucceeded ? "succeeded" : "failed",
          result: result?.message.content ?? null
        })
      })
      reports = [...reports, ...added]
    }

    const openCall: Step<E> = Effect.flatMap(canContinue, (may) => {
      isLast = rounds.length === maximumToolRounds || (!may && rounds.length > 0)
      output = { text: "", toolCalls: [], argumentsLength: 0 }
      const opened = isLast
        ? callModel(toPlainMessages(fitPrompt({ ...prompt, rounds }, budget - plainRoundsTokens)), [])
        : callModel(fitPrompt({ ...prompt, rounds }, budget), specs)
      return Effect.map(provideDirectly(opened, Context.make(Scope.Scope, scope)), (source) => {
        call = source
        return null
      })
    })

    const runTools = (calls: ReadonlyArray<ToolCall>): Step<E> =>
      Effect.map(runAll(tools, caller, calls), (results) => {
        report(calls, results)
        rounds = [
          ...rounds,
          [
            { role: "assistant", content: output.text.trim(), toolCalls: calls },
            ...results.map(({ message }) => message)
          ]
        ]
        before += output.text
        return openCall
      })

    const endCall: Step<E> = Effect.suspend((): Step<E> => {
      if (isTooLong()) return Effect.fail(onUnterminated())
      const reply = before + output.text
      if (output.toolCalls.length === 0 || isLast)
        return Effect.as(
          Effect.map(makeEnd(reply), (last) => finish([last])),
          null
        )
      const calls = distinct(output.toolCalls, rounds.length)
      report(calls)
      return Effect.succeed(runTools(calls))
    })

    /** Work between two batches. */
    let work: Step<E> | null = openCall

    const pass = (event: ModelEvent<object>): ReadonlyArray<ModelDelta> => {
      if (event.type === "tool-call") {
        output.argumentsLength += event.call.arguments.length
        if (output.toolCalls.length < maximumReadCalls && output.argumentsLength <= maximumArguments)
          output.toolCalls.push(event.call)
        return []
      }
      if (event.type === "done") return []
      // The texts of two rounds are separate paragraphs of the reply.
      const gap = output.text === "" && event.text !== "" && before !== "" && !before.endsWith("\n") ? "\n\n" : ""
      output.text += gap + event.text
      return gap === "" ? [event] : [{ ...event, text: gap }, event]
    }

    const poll = (): ChunkBatch<ModelDelta | Report | End, E> | null => {
      if (reports.length > 0) {
        const values = reports
        reports = []
        return { values, isDone: false }
      }
      if (end !== null) {
        const batch = end
        end = { ...end, values: [] }
        return batch
      }
      const batch = work === null ? call.poll() : null
      if (batch === null) return null
      const values = batch.values.flatMap(pass)
      if (batch.failure !== undefined) finish([], batch.failure)
      else if (batch.isDone || isTooLong()) work = endCall
      return values.length > 0 ? { values, isDone: false } : end
    }

    return {
      poll,
      awaitMore: Effect.suspend(() =>
        work === null
          ? call.awaitMore
          : Effect.match(work, {
              onSuccess: (next) => {
                work = next
              },
              onFailure: (failure) => finish([], failure)
            })
      ),
      wake: () => call.wake()
    }
  })
}
