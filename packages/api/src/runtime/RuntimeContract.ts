import { AgentId } from "@berth/domain/agents/Agent"
import { ChatMessage, ToolCall, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { RuntimeAgent, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { Schema } from "effect"

/*
 * The two wires of a cell, in plain schemas so that the cell's bundle stays small: what the backend asks of a cell, and
 * what a cell asks of the backend. Both sides show the cell's own token as `Authorization: Bearer <token>`. Streams are
 * server-sent events whose `event` is the `type` of the datum and whose `data` is its JSON.
 */

/** What the backend asks of a cell. */
export const RuntimePaths = {
  /** GET: 200 with `RuntimeHealth` when the cell takes turns. */
  health: "/health",
  /** PUT `RuntimeConfiguration`: 204. */
  configuration: "/configuration",
  /** POST `Turn`: 200 with a stream of `RuntimeTurnEvent`; 404 for an agent the cell does not have. */
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

export const RuntimeConfiguration = Schema.Struct({ agents: Schema.Array(RuntimeAgent) })
export type RuntimeConfiguration = typeof RuntimeConfiguration.Type

/** A turn's stream ends with `done` or `error`; a stream that ends with neither was cut. */
export const RuntimeTurnEvent = Schema.Union(
  ...TurnEvent.members,
  Schema.Struct({ type: Schema.Literal("error"), message: Schema.String })
)
export type RuntimeTurnEvent = typeof RuntimeTurnEvent.Type

/** What a cell asks of the backend: POST `RuntimeModelRequest` answers with a stream of `RuntimeModelEvent`, or with a JSON error before its first byte. */
export const runtimeModelPath = "/internal/cells/model"

export const RuntimeModelRequest = Schema.Struct({
  agentId: AgentId,
  /** The message this call works on. */
  messageId: Schema.String,
  model: Schema.String,
  messages: Schema.Array(ChatMessage),
  /** What the model may call; empty when nothing. */
  tools: Schema.Array(ToolSpec),
  temperature: Schema.NullOr(Schema.Number),
  maxTokens: Schema.NullOr(Schema.Int)
})
export type RuntimeModelRequest = typeof RuntimeModelRequest.Type

export const RuntimeModelEvent = Schema.Union(
  Schema.Struct({ type: Schema.Literal("delta"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("tool-call"), call: ToolCall }),
  Schema.Struct({ type: Schema.Literal("done"), model: Schema.String, provider: Schema.String }),
  Schema.Struct({ type: Schema.Literal("error"), message: Schema.String })
)
export type RuntimeModelEvent = typeof RuntimeModelEvent.Type

/**
 * What agents remember. POST `RuntimeNote` keeps a note of the agent (204); POST `RuntimeRecallQuery` finds what its notes and its
 * earlier conversations with its owner say, best match first (200 with `RuntimeRecollections`).
 */
export const runtimeNotesPath = "/internal/cells/notes"
export const runtimeRecallPath = "/internal/cells/recall"

export const RuntimeNote = Schema.Struct({
  agentId: AgentId,
  text: Schema.NonEmptyTrimmedString.pipe(Schema.maxLength(2_000))
})
export const RuntimeRecallQuery = Schema.Struct({
  agentId: AgentId,
  query: Schema.String.pipe(Schema.maxLength(2_000))
})
export const RuntimeRecollection = Schema.Struct({
  kind: Schema.Literal("note", "message"),
  text: Schema.String,
  /** Epoch milliseconds. */
  at: Schema.Int
})
export const RuntimeRecollections = Schema.Struct({ found: Schema.Array(RuntimeRecollection) })

/** A refusal of either side, before a stream begins. */
export const RuntimeErrorBody = Schema.Struct({ error: Schema.String, message: Schema.String })
export type RuntimeErrorBody = typeof RuntimeErrorBody.Type

/** The largest request body a cell takes, in bytes. */
export const runtimeBodyLimit = 4 * 1024 * 1024

/** The environment a cell is started with; nothing else of the platform's environment reaches it. */
export const RuntimeEnvironment = {
  token: "BERTH_CELL_TOKEN",
  backendUrl: "BERTH_BACKEND_URL",
  /** The cell's own directory, absolute; its only writable place. */
  directory: "BERTH_CELL_DIRECTORY",
  /** What the cell may hold resident, in MiB; it ends itself when it holds more. Absent: no limit of its own. */
  memoryMb: "BERTH_CELL_MEMORY_MB",
  /** What the cell's directory may hold, in MiB: its tools refuse to write more, and a cell well over it is ended. Absent: 64. */
  diskMb: "BERTH_CELL_DISK_MB",
  /** Base address of an OTLP/HTTP collector. Absent: spans are not exported. */
  otlpEndpoint: "OTEL_EXPORTER_OTLP_ENDPOINT",
  serviceName: "OTEL_SERVICE_NAME"
} as const

/**
 * What in the cell's directory belongs to its agents, and not to the cell: below it, each agent's files. It outlives whatever
 * is done to put a cell right.
 */
export const runtimeAgentsDirectory = "agents"

/** How long a cell that was asked to end waits for the turns in work, in seconds. */
export const runtimeDrainSeconds = 5

/** Name of the file in the cell's directory in which it says where it listens, once it does. */
export const runtimeAddressFile = "cell.json"

export const RuntimeAddress = Schema.Struct({
  pid: Schema.Int,
  port: Schema.Int,
  runtimeVersion: Schema.String,
  /** Epoch milliseconds. */
  startedAt: Schema.Int
})
export type RuntimeAddress = typeof RuntimeAddress.Type
