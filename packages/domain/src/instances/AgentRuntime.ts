import { Context, Data, type Effect, Schema, type Stream } from "effect"
import type { RunningInstance } from "./InstanceDriver.ts"
import type { Redacted } from "effect"
import { AgentId } from "../shared/AgentId.ts"

/** A skill that its owner has switched on for an agent, as a SKILL.md folder describes it. */
export const RuntimeSkill = Schema.Struct({
  id: Schema.String,
  description: Schema.String,
  /** The body of SKILL.md: what the model is told about using it. */
  instructions: Schema.String,
  /** Names of the runtime's tools that it uses (`allowed-tools`). */
  tools: Schema.Array(Schema.String)
}).annotations({ identifier: "RuntimeSkill" })
export type RuntimeSkill = typeof RuntimeSkill.Type

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
  skills: Schema.Array(RuntimeSkill),
  /** Tokens that the model takes at once, answer included. */
  contextWindow: Schema.Int
}).annotations({ identifier: "RuntimeAgent" })
export type RuntimeAgent = typeof RuntimeAgent.Type

/** `seq` is the message's place in its session, from 1. */
export const TurnMessage = Schema.Struct({
  seq: Schema.Int,
  role: Schema.Literal("user", "assistant"),
  content: Schema.String
})
export type TurnMessage = typeof TurnMessage.Type

/**
 * One turn of a conversation: the user's message and what went before it in its session, oldest first. What went before
 * `history` is in `summary`; `memories` are what the agent knows from elsewhere, most telling first.
 */
export const Turn = Schema.Struct({
  agentId: AgentId,
  sessionId: Schema.String,
  messageId: Schema.String,
  summary: Schema.NullOr(Schema.String),
  memories: Schema.Array(Schema.String),
  history: Schema.Array(TurnMessage),
  message: Schema.String
}).annotations({ identifier: "Turn" })
export type Turn = typeof Turn.Type

/**
 * A piece of an answer, or its end with the whole text. `compacted` says that the conversation had grown too long for the
 * model and that `summary` stands for its messages up to `upToSeq` from now on.
 */
export const TurnEvent = Schema.Union(
  Schema.Struct({ type: Schema.Literal("delta"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("compacted"), summary: Schema.String, upToSeq: Schema.Int }),
  Schema.Struct({ type: Schema.Literal("done"), reply: Schema.String, model: Schema.String })
).annotations({ identifier: "TurnEvent" })
export type TurnEvent = typeof TurnEvent.Type

/**
 * The cell could not be reached or stopped answering. `unsent`: nothing of what was asked has left for it, so it cannot have
 * begun, and asking again asks once.
 */
export class RuntimeUnreachable extends Data.TaggedError("RuntimeUnreachable")<{
  readonly reason: string
  readonly unsent?: boolean | undefined
}> {}
/** The cell answered that the turn failed, most often because the model did. */
export class TurnFailed extends Data.TaggedError("TurnFailed")<{ readonly reason: string }> {}

export interface RuntimeAccess {
  readonly instance: RunningInstance
  readonly token: Redacted.Redacted
}

/** What the backend asks of a running cell. */
export class AgentRuntime extends Context.Tag("@berth/AgentRuntime")<
  AgentRuntime,
  {
    /** Replaces the set of agents; sessions in work go on. */
    readonly configure: (
      access: RuntimeAccess,
      agents: ReadonlyArray<RuntimeAgent>
    ) => Effect.Effect<void, RuntimeUnreachable>
    /** Ends with `done`, or fails. */
    readonly chat: (access: RuntimeAccess, turn: Turn) => Stream.Stream<TurnEvent, RuntimeUnreachable | TurnFailed>
  }
>() {}
