import { AgentId } from "@berth/domain/agents/Agent"
import { ChatMessage, ToolCall, ToolSpec } from "@berth/domain/ai/ModelChat"
import { RuntimeAgent, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { Schema } from "effect"

/*
 * The two wires of a cell, in plain schemas so that the cell's bundle stays small: what the backend asks of a cell, and
 * what a cell asks of the backend. Both sides show the cell's own token as `Authorization: Bearer <token>`. Streams are
 * server-sent events whose `event` is the `type` of the datum and whose `data` is its JSON.
 */

/** What the backend asks of a cell. */
export const CellPaths = {
  /** GET: 200 with `CellHealth` when the cell takes turns. */
  health: "/health",
  /** PUT `CellConfiguration`: 204. */
  configuration: "/configuration",
  /** POST `Turn`: 200 with a stream of `CellTurnEvent`; 404 for an agent the cell does not have. */
  turns: "/turns"
} as const

export const CellHealth = Schema.Struct({
  status: Schema.Literal("ok"),
  runtimeVersion: Schema.String,
  /** Epoch milliseconds. */
  startedAt: Schema.Int,
  agents: Schema.Array(AgentId)
})
export type CellHealth = typeof CellHealth.Type

export const CellConfiguration = Schema.Struct({ agents: Schema.Array(RuntimeAgent) })
export type CellConfiguration = typeof CellConfiguration.Type

/** A turn's stream ends with `done` or `error`; a stream that ends with neither was cut. */
export const CellTurnEvent = Schema.Union(
  ...TurnEvent.members,
  Schema.Struct({ type: Schema.Literal("error"), message: Schema.String })
)
export type CellTurnEvent = typeof CellTurnEvent.Type

/** What a cell asks of the backend: POST `CellModelRequest` answers with a stream of `CellModelEvent`, or with a JSON error before its first byte. */
export const cellModelPath = "/internal/cells/model"

export const CellModelRequest = Schema.Struct({
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
export type CellModelRequest = typeof CellModelRequest.Type

export const CellModelEvent = Schema.Union(
  Schema.Struct({ type: Schema.Literal("delta"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("tool-call"), call: ToolCall }),
  Schema.Struct({ type: Schema.Literal("done"), model: Schema.String, provider: Schema.String }),
  Schema.Struct({ type: Schema.Literal("error"), message: Schema.String })
)
export type CellModelEvent = typeof CellModelEvent.Type

/**
 * What agents remember. POST `CellNote` keeps a note of the agent (204); POST `CellQuestion` finds what its notes and its
 * earlier conversations with its owner say, best match first (200 with `CellRecollections`).
 */
export const cellNotesPath = "/internal/cells/notes"
export const cellRecallPath = "/internal/cells/recall"

export const CellNote = Schema.Struct({
  agentId: AgentId,
  text: Schema.NonEmptyTrimmedString.pipe(Schema.maxLength(2_000))
})
export const CellQuestion = Schema.Struct({ agentId: AgentId, query: Schema.String.pipe(Schema.maxLength(2_000)) })
export const Recollection = Schema.Struct({
  kind: Schema.Literal("note", "message"),
  text: Schema.String,
  /** Epoch milliseconds. */
  at: Schema.Int
})
export const CellRecollections = Schema.Struct({ found: Schema.Array(Recollection) })

/** A refusal of either side, before a stream begins. */
export const CellRefusal = Schema.Struct({ error: Schema.String, message: Schema.String })
export type CellRefusal = typeof CellRefusal.Type

/** The largest request body a cell takes, in bytes. */
export const cellBodyLimit = 4 * 1024 * 1024

/** The environment a cell is started with; nothing else of the platform's environment reaches it. */
export const CellEnvironment = {
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
export const cellAgentsDirectory = "agents"

/** How long a cell that was asked to end waits for the turns in work, in seconds. */
export const cellDrainSeconds = 5

/** Name of the file in the cell's directory in which it says where it listens, once it does. */
export const cellAddressFile = "cell.json"

export const CellAddress = Schema.Struct({
  pid: Schema.Int,
  port: Schema.Int,
  runtimeVersion: Schema.String,
  /** Epoch milliseconds. */
  startedAt: Schema.Int
})
export type CellAddress = typeof CellAddress.Type
