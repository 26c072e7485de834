import { ChatMessage, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { ModelDelta, ModelToolCall } from "@berth/domain/ai/streams/ModelEvent"
import { RuntimeAgent, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { maximumBatchSpans, RuntimeSpan } from "@berth/domain/instances/RuntimeSpans"
import { maximumMemoryText } from "@berth/domain/skills/tools/ToolParameters"
import { Schema } from "effect"
import { AgentId } from "@berth/domain/shared/AgentId"

export { runtimeAddressFile, RuntimeEnvironment } from "./RuntimeEnvironment.ts"

/*
 * Both directions of the runtime protocol, in plain schemas to keep the runtime's bundle small. Requests contain the
 * runtime token as `Authorization: Bearer <token>`. Streams are server-sent events: `event` is the `type` of `data`.
 */

export const RuntimePaths = {
  /** GET: 200 with `RuntimeHealth` if the runtime accepts turns. */
  health: "/health",
  /** GET: 200 with `RuntimeStorage`. */
  storage: "/storage",
  /** GET: 200 with `RuntimeStats`. */
  stats: "/stats",
  /** PUT `RuntimeConfiguration`: 204. */
  configuration: "/configuration",
  /** POST `Turn`: 200 with a stream of `RuntimeTurnEvent`; 404 for an agent that is not configured. */
  turns: "/turns"
} as const

export const RuntimeHealth = Schema.Struct({
  status: Schema.Literal("ok"),
  runtimeVersion: Schema.String,
  /** Epoch milliseconds. */
  startedAt: Schema.Int,
  agents: Schema.Array(AgentId)
})
export type RuntimeHealth = typeof RuntimeHealth.Type

/** Bytes of all agents' files, as the quota counts them. */
export const RuntimeStorage = Schema.Struct({ bytes: Schema.Int })

/** Finite and bounded, since instances are not trusted. */
const figure = (maximum: number) => Schema.Number.pipe(Schema.between(0, maximum))
const longestSeconds = 86_400

/** Figures of the process since the previous reading. */
export const RuntimeStats = Schema.Struct({
  lagP99Seconds: figure(longestSeconds),
  lagMaximumSeconds: figure(longestSeconds),
  /** Busy share of the event loop. */
  utilization: figure(1),
  /** Pauses of the garbage collector. */
  collectionSeconds: figure(longestSeconds),
  heapUsedBytes: figure(2 ** 40)
})
export type RuntimeStats = typeof RuntimeStats.Type

export const RuntimeConfiguration = Schema.Struct({ agents: Schema.Array(RuntimeAgent) })
export type RuntimeConfiguration = typeof RuntimeConfiguration.Type

/** A turn's stream ends with `done` or `error`; otherwise it was interrupted. */
export const RuntimeTurnEvent = Schema.Union(
  ...TurnEvent.members,
  Schema.Struct({ type: Schema.Literal("error"), message: Schema.String })
)
export type RuntimeTurnEvent = typeof RuntimeTurnEvent.Type

/** Turn in progress of a request to the backend. It determines what the agent may read and write. */
const turnFields = {
  agentId: AgentId,
  /** A message id or a task id. */
  messageId: Schema.String
}

/**
 * Status of a model call that the turn's budget or the owner's balance does not cover; the turn ends with its text so
 * far.
 */
export const turnBudgetExhaustedStatus = 402

/** POST `RuntimeModelRequest` on the backend: a stream of `RuntimeModelEvent`, or a JSON error before its first byte. */
export const runtimeModelPath = "/internal/runtime/model"

export const RuntimeModelRequest = Schema.Struct({
  ...turnFields,
  model: Schema.String,
  messages: Schema.Array(ChatMessage),
  tools: Schema.Array(ToolSpec),
  temperature: Schema.NullOr(Schema.Number),
  maxTokens: Schema.NullOr(Schema.Int),
  /** For spans. Absent in earlier releases. */
  conversation: Schema.optionalWith(
    Schema.Struct({
      id: Schema.String.pipe(Schema.maxLength(100)),
      agentName: Schema.String.pipe(Schema.maxLength(1000))
    }),
    { exact: true }
  )
})
export type RuntimeModelRequest = typeof RuntimeModelRequest.Type

export const RuntimeModelEvent = Schema.Union(
  ModelDelta,
  ModelToolCall,
  Schema.Struct({ type: Schema.Literal("done"), model: Schema.String, provider: Schema.String }),
  Schema.Struct({ type: Schema.Literal("error"), message: Schema.String })
)
export type RuntimeModelEvent = typeof RuntimeModelEvent.Type

/** POST `RuntimeNote`: 204. POST `RuntimeRecallQuery`: 200 with `RuntimeRecollections`, best match first. */
export const runtimeNotesPath = "/internal/runtime/notes"
export const runtimeRecallPath = "/internal/runtime/recall"

export const RuntimeNote = Schema.Struct({
  ...turnFields,
  text: Schema.NonEmptyTrimmedString.pipe(Schema.maxLength(maximumMemoryText))
})
export const RuntimeRecallQuery = Schema.Struct({
  ...turnFields,
  query: Schema.String.pipe(Schema.maxLength(maximumMemoryText))
})
export const RuntimeRecollection = Schema.Struct({
  kind: Schema.Literal("note", "message"),
  text: Schema.String,
  /** Epoch milliseconds. */
  at: Schema.Int
})
export const RuntimeRecollections = Schema.Struct({ found: Schema.Array(RuntimeRecollection) })

/** Answer to a tool's call. */
export const RuntimeTextAnswer = Schema.Struct({ text: Schema.String })

/** POST `RuntimeWalletCall`: 200 with `RuntimeTextAnswer`, whose text is for the model; 400 with a reason for the model. */
export const runtimeWalletPath = "/internal/runtime/wallet"

const WalletText = Schema.String.pipe(Schema.maxLength(2_000))

export const RuntimeWalletCall = Schema.Struct({
  ...turnFields,
  call: Schema.Union(
    Schema.Struct({ action: Schema.Literal("get_balance") }),
    Schema.Struct({ action: Schema.Literal("send_usdc"), to: WalletText, amount: WalletText }),
    Schema.Struct({
      action: Schema.Literal("x402_payments"),
      url: WalletText,
      method: Schema.Literal("GET", "POST"),
      body: Schema.NullOr(Schema.String.pipe(Schema.maxLength(16_000)))
    })
  )
})

/** POST `RuntimeA2aCall`: 200 with `RuntimeTextAnswer`, whose text is for the model; 400 with a reason for the model. */
export const runtimeA2aPath = "/internal/runtime/a2a"

export const RuntimeA2aCall = Schema.Struct({
  ...turnFields,
  call: Schema.Union(
    Schema.Struct({ action: Schema.Literal("list_agents") }),
    Schema.Struct({
      action: Schema.Literal("send"),
      to: Schema.String.pipe(Schema.maxLength(200)),
      mode: Schema.Literal("request", "notify", "delegate"),
      message: Schema.String.pipe(Schema.maxLength(16_000)),
      priority: Schema.optional(Schema.Literal("normal", "high")),
      budgetUnits: Schema.optional(Schema.Int),
      skill: Schema.optional(Schema.String),
      tool: Schema.optional(Schema.String),
      arguments: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
    })
  )
})

/** POST `RuntimeMcpCall`: 200 with `RuntimeTextAnswer`: the result for the model, or `RuntimeMcpTools` as JSON. */
export const runtimeMcpPath = "/internal/runtime/mcp"

export const RuntimeMcpCall = Schema.Struct({
  ...turnFields,
  call: Schema.Union(
    Schema.Struct({ action: Schema.Literal("list") }),
    Schema.Struct({
      action: Schema.Literal("call"),
      server: Schema.String.pipe(Schema.maxLength(100)),
      /** The tool's name at the server. */
      tool: Schema.String.pipe(Schema.maxLength(1_000)),
      arguments: Schema.Record({ key: Schema.String, value: Schema.Unknown })
    })
  )
})

export const RuntimeMcpTools = Schema.parseJson(
  Schema.Array(Schema.Struct({ server: Schema.String, tool: Schema.String, spec: ToolSpec }))
)

/** POST `RuntimePageQuery`: 200 with the page and its `Content-Type`; its address is in `Content-Location`. */
export const runtimePagesPath = "/internal/runtime/pages"

export const RuntimePageQuery = Schema.Struct({
  ...turnFields,
  url: Schema.String
})

/** POST `RuntimeSpanBatch`: 204, even if spans are not exported. */
export const runtimeSpansPath = "/internal/runtime/spans"

export const RuntimeSpanBatch = Schema.Struct({
  spans: Schema.Array(RuntimeSpan).pipe(Schema.maxItems(maximumBatchSpans))
})

/** A rejection by either side before a stream begins. */
export const RuntimeErrorBody = Schema.Struct({ error: Schema.String, message: Schema.String })
export type RuntimeErrorBody = typeof RuntimeErrorBody.Type

/** Maximum request body of the runtime in bytes. */
export const runtimeBodyLimit = 4 * 1024 * 1024

/** Folder of the agents' files in the instance's directory; repairs keep it. */
export const runtimeAgentsDirectory = "agents"

/** Seconds that a stopping runtime waits for turns in progress. */
export const runtimeDrainSeconds = 5

export const RuntimeAddress = Schema.Struct({
  pid: Schema.Int,
  socket: Schema.String,
  runtimeVersion: Schema.String,
  /** Epoch milliseconds. */
  startedAt: Schema.Int
})
export type RuntimeAddress = typeof RuntimeAddress.Type
