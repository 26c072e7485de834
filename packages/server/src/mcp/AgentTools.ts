import { AgentNotFoundBody, SkillNotFoundBody } from "@berth/api/agents/AgentErrorBodies"
import { BudgetExceededBody, UnitsExhaustedBody } from "@berth/api/billing/BillingErrorBodies"
import {
  ChatSessionLimitReachedBody,
  ChatSessionNotFoundBody,
  MessageInvalidBody,
  MessageUnansweredBody,
  PendingMessageLimitReachedBody,
  RunningAgentNotFoundBody
} from "@berth/api/interaction/InteractionErrorBodies"
import {
  AgentRunNotFoundBody,
  SkillDisabledBody,
  SkillInputInvalidBody,
  SkillRunLimitReachedBody
} from "@berth/api/schedules/ScheduleErrorBodies"
import type { Agent } from "@berth/domain/agents/Agent"
import { Agents } from "@berth/domain/agents/Agents"
import { streamFromReader } from "@berth/domain/ai/streams/ChunkReader"
import { ChatSessionId } from "@berth/domain/interaction/Conversation"
import { MessageUnanswered } from "@berth/domain/interaction/ConversationErrors"
import { Conversations } from "@berth/domain/interaction/conversations/Conversations"
import type { CallableTool } from "@berth/domain/schedules/runs/SkillCalls"
import { SkillRuns } from "@berth/domain/schedules/runs/SkillRuns"
import { type Principal, requireScope } from "@berth/domain/sessions/Principal"
import type { User } from "@berth/domain/shared/User"
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js"
import { Data, Effect, Either, Option, Schedule, Schema, Stream } from "effect"
import { describeIssues } from "../http/SchemaIssues.ts"
import { nameChatTool, nameSkillTool } from "./ToolNames.ts"

/** Reports partial results while the tool runs. */
export type ReportProgress = (text: string) => Effect.Effect<void>

export interface OfferedTool {
  readonly tool: Tool
  readonly run: (args: unknown, report: ReportProgress) => Effect.Effect<CallToolResult>
}

class ArgumentsInvalid extends Data.TaggedError("ArgumentsInvalid")<{ readonly message: string }> {}

const Failure = Schema.Union(
  AgentNotFoundBody,
  UnitsExhaustedBody,
  BudgetExceededBody,
  ChatSessionLimitReachedBody,
  ChatSessionNotFoundBody,
  MessageInvalidBody,
  MessageUnansweredBody,
  PendingMessageLimitReachedBody,
  RunningAgentNotFoundBody,
  AgentRunNotFoundBody,
  SkillDisabledBody,
  SkillInputInvalidBody,
  SkillNotFoundBody,
  SkillRunLimitReachedBody
)
const encodeFailure = Schema.encodeSync(Failure)

const toText = (text: string) => [{ type: "text" as const, text }]

/** A failure becomes a result for the model. */
const toResult = <R>(run: Effect.Effect<CallToolResult, typeof Failure.Type | ArgumentsInvalid, R>) =>
  Effect.catchAll(run, (failure) =>
    Effect.succeed<CallToolResult>({
      content: toText(failure._tag === "ArgumentsInvalid" ? failure.message : encodeFailure(failure).message),
      isError: true
    })
  )

const ChatArguments = Schema.Struct({ message: Schema.String, sessionId: Schema.optional(ChatSessionId) })
const SkillArguments = Schema.Record({ key: Schema.String, value: Schema.Unknown })

const decode =
  <A, I>(schema: Schema.Schema<A, I>) =>
  (args: unknown) =>
    Effect.mapError(
      Schema.decodeUnknown(schema)(args ?? {}),
      (error) => new ArgumentsInvalid({ message: `Invalid arguments: ${describeIssues(error)}` })
    )
const decodeChat = decode(ChatArguments)
const decodeSkill = decode(SkillArguments)

const runPoll = Schedule.spaced("250 millis")
const inProgress = new Set(["waiting", "running"])

/**
 * Offers the agents of a caller as tools: a chat tool for each, and its enabled skills for callers with the scope of
 * agents.
 */
export const makeAgentTools = Effect.gen(function* () {
  const agents = yield* Agents
  const conversations = yield* Conversations
  const runs = yield* SkillRuns

  const chat = (user: User, agent: Agent): OfferedTool => ({
    tool: {
      name: nameChatTool(agent.id),
      title: `Chat with ${agent.name}`,
      description: `Sends a message to the agent ${agent.name} and returns its reply. The agent remembers the conversation.`,
      inputSchema: {
        type: "object",
        properties: {
          message: { type: "string", description: "The message" },
          sessionId: { type: "string", description: "The conversation to continue. Default: the last one." }
        },
        required: ["message"]
      },
      annotations: { readOnlyHint: false, openWorldHint: true }
    },
    run: (args, report) =>
      Effect.gen(function* () {
        const toSend = { ...(yield* decodeChat(args)), agentId: agent.id }
        const { events } = yield* conversations.send(user, toSend, { isResumable: false })
        const last = yield* streamFromReader(events).pipe(
          Stream.tap((event) => (event.type === "delta" ? report(event.text) : Effect.void)),
          Stream.runLast
        )
        const end = Option.getOrUndefined(last)
        if (end?.type !== "done")
          return yield* new MessageUnanswered({
            reason: end?.type === "failed" ? end.reason : "the agent stopped answering"
          })
        const { content, sessionId } = end.reply
        return { content: toText(content), structuredContent: { reply: content, sessionId } }
      }).pipe(toResult)
  })

  const skill = (user: User, agent: Agent, { description, parameters, skillId, tool }: CallableTool): OfferedTool => ({
    tool: {
      name: nameSkillTool(tool, agent.id),
      title: `${agent.name}: ${tool}`,
      description: `${description} Runs in the instance of the agent ${agent.name}.`,
      inputSchema: { ...parameters, type: "object" }
    },
    run: (args) =>
      Effect.gen(function* () {
        const input = { tool, arguments: yield* decodeSkill(args) }
        const id = yield* runs.start(user, agent, skillId, input)
        const read = runs.find(agent, skillId, id)
        const run = yield* Effect.repeat(read, { while: ({ state }) => inProgress.has(state), schedule: runPoll }).pipe(
          Effect.zipRight(read),
          Effect.onInterrupt(() => Effect.ignore(runs.cancel(agent, skillId, id)))
        )
        const isError = run.state !== "succeeded"
        return { content: toText((isError ? run.reason : run.result) ?? run.state), isError }
      }).pipe(toResult)
  })

  const list = Effect.fn("AgentTools.list")(function* ({ proof, user }: Principal["Type"]) {
    const owned = yield* agents.list(user.id)
    const hasSkills = Either.isRight(requireScope({ proof }, "agents"))
    return yield* Effect.forEach(owned, (agent) =>
      Effect.map(hasSkills ? runs.listTools(user, agent) : Effect.succeed([]), (tools) => [
        chat(user, agent),
        ...tools.map((tool) => skill(user, agent, tool))
      ])
    ).pipe(Effect.map((tools) => tools.flat()))
  })

  return { list }
})
