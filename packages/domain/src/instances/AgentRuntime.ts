import { Context, Data, type Effect, Schema, type Stream } from "effect"
import { AgentId } from "../agents/Agent.ts"
import type { Cell } from "./InstanceDriver.ts"
import type { Redacted } from "effect"

/** An agent as its cell needs to know it. */
export const RuntimeAgent = Schema.Struct({
  id: AgentId,
  name: Schema.String,
  /** Model id to ask the AI layer for. */
  model: Schema.String,
  systemPrompt: Schema.NullOr(Schema.String),
  temperature: Schema.NullOr(Schema.Number),
  maxTokens: Schema.NullOr(Schema.Int),
  timezone: Schema.String,
  skills: Schema.Array(Schema.String)
}).annotations({ identifier: "RuntimeAgent" })
export type RuntimeAgent = typeof RuntimeAgent.Type

export const TurnMessage = Schema.Struct({ role: Schema.Literal("user", "assistant"), content: Schema.String })
export type TurnMessage = typeof TurnMessage.Type

/** One turn of a conversation: the user's message and what went before it in its session, oldest first. */
export const Turn = Schema.Struct({
  agentId: AgentId,
  sessionId: Schema.String,
  messageId: Schema.String,
  history: Schema.Array(TurnMessage),
  message: Schema.String
}).annotations({ identifier: "Turn" })
export type Turn = typeof Turn.Type

/** A piece of an answer, or its end with the whole text. */
export const TurnEvent = Schema.Union(
  Schema.Struct({ type: Schema.Literal("delta"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("done"), reply: Schema.String, model: Schema.String })
).annotations({ identifier: "TurnEvent" })
export type TurnEvent = typeof TurnEvent.Type

/** The cell could not be reached or stopped answering. */
export class RuntimeIsUnreachable extends Data.TaggedError("RuntimeIsUnreachable")<{ readonly reason: string }> {}
/** The cell answered that the turn failed, most often because the model did. */
export class TurnFailed extends Data.TaggedError("TurnFailed")<{ readonly reason: string }> {}

export interface CellAccess {
  readonly cell: Cell
  readonly token: Redacted.Redacted
}

/** What the backend asks of a running cell. */
export class AgentRuntime extends Context.Tag("@berth/AgentRuntime")<
  AgentRuntime,
  {
    /** Replaces the set of agents; sessions in work go on. */
    readonly configure: (
      access: CellAccess,
      agents: ReadonlyArray<RuntimeAgent>
    ) => Effect.Effect<void, RuntimeIsUnreachable>
    /** Ends with `done`, or fails. */
    readonly chat: (access: CellAccess, turn: Turn) => Stream.Stream<TurnEvent, RuntimeIsUnreachable | TurnFailed>
  }
>() {}
