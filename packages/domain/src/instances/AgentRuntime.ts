import { Context, Data, type Effect, type Option, Schema, type Scope } from "effect"
import type { ChunkSource } from "../ai/streams/ChunkSource.ts"
import type { RunningInstance } from "./InstanceDriver.ts"
import type { Redacted } from "effect"
import { AgentId } from "../shared/AgentId.ts"
import { ToolActivity } from "../skills/tools/ToolActivity.ts"
import { SkillCode } from "../skills/SkillCode.ts"

/** An enabled skill, as described by its SKILL.md. */
export const RuntimeSkill = Schema.Struct({
  id: Schema.String,
  description: Schema.String,
  /** The body of SKILL.md, for the model. */
  instructions: Schema.String,
  /** The runtime's tools that the skill uses (`allowed-tools`). */
  tools: Schema.Array(Schema.String),
  /** Only for uploaded skills; runtimes of an earlier release ignore it. */
  code: Schema.optionalWith(SkillCode, { exact: true })
}).annotations({ identifier: "RuntimeSkill" })
export type RuntimeSkill = typeof RuntimeSkill.Type

/** An agent's configuration in its runtime. */
export const RuntimeAgent = Schema.Struct({
  id: AgentId,
  name: Schema.String,
  /** Model id of the AI layer. */
  model: Schema.String,
  systemPrompt: Schema.NullOr(Schema.String),
  temperature: Schema.NullOr(Schema.Number),
  maxTokens: Schema.NullOr(Schema.Int),
  timezone: Schema.String,
  skills: Schema.Array(RuntimeSkill),
  /** In tokens, including the reply. */
  contextWindow: Schema.Int,
  /** Whether the backend offers tools of MCP servers; runtimes of an earlier release ignore it. */
  hasMcpServers: Schema.optionalWith(Schema.Boolean, { exact: true })
}).annotations({ identifier: "RuntimeAgent" })
export type RuntimeAgent = typeof RuntimeAgent.Type

/** Ids of images, which only the backend can read; runtimes of an earlier release ignore them. */
const Images = Schema.Array(Schema.String)

/** `seq` is the position in the session, from 1. */
export const TurnMessage = Schema.Struct({
  seq: Schema.Int,
  role: Schema.Literal("user", "assistant"),
  content: Schema.String,
  images: Schema.optionalWith(Images, { exact: true })
})
export type TurnMessage = typeof TurnMessage.Type

/** A tool that a turn runs without a model. */
export const ToolInvocation = Schema.Struct({
  tool: Schema.String,
  arguments: Schema.Record({ key: Schema.String, value: Schema.Unknown })
}).annotations({ identifier: "ToolInvocation" })
export type ToolInvocation = typeof ToolInvocation.Type

/**
 * One turn: the user's message and the preceding messages, oldest first. `summary` replaces the messages before
 * `history`; `memories` are from other sessions, the most relevant first. A turn that is not `fromOwner` has no tools
 * for the owner's data.
 */
export const Turn = Schema.Struct({
  agentId: AgentId,
  sessionId: Schema.String,
  messageId: Schema.String,
  fromOwner: Schema.Boolean,
  summary: Schema.NullOr(Schema.String),
  memories: Schema.Array(Schema.String),
  history: Schema.Array(TurnMessage),
  message: Schema.String,
  images: Schema.optionalWith(Images, { exact: true }),
  /** The reply is the tool's result. */
  invocation: Schema.optional(ToolInvocation),
  /** Absent for services of an earlier release, which cannot read reports of tool calls. */
  reportsTools: Schema.optional(Schema.Boolean)
}).annotations({ identifier: "Turn" })
export type Turn = typeof Turn.Type

/**
 * A delta of the reply, a tool call, or the end, which names the model of the reply's last text; runtimes of an earlier
 * release name no provider. After `compacted`, `summary` replaces the session's messages up to `upToSeq`.
 */
export const TurnEvent = Schema.Union(
  Schema.Struct({ type: Schema.Literal("delta"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("tool"), call: ToolActivity }),
  Schema.Struct({ type: Schema.Literal("compacted"), summary: Schema.String, upToSeq: Schema.Int }),
  Schema.Struct({
    type: Schema.Literal("done"),
    reply: Schema.String,
    model: Schema.String,
    provider: Schema.optional(Schema.String)
  })
).annotations({ identifier: "TurnEvent" })
export type TurnEvent = typeof TurnEvent.Type

/** Events of a turn, up to `done`. */
export type TurnEvents<E> = ChunkSource<TurnEvent, E>

/** The runtime is unreachable or stopped responding. `unsent`: the request was never sent, so a retry is safe. */
export class RuntimeUnreachable extends Data.TaggedError("RuntimeUnreachable")<{
  readonly reason: string
  readonly unsent?: boolean | undefined
}> {}
/** The runtime reported a failed turn, usually caused by the model. */
export class TurnFailed extends Data.TaggedError("TurnFailed")<{ readonly reason: string }> {}

export interface RuntimeAccess {
  readonly instance: RunningInstance
  readonly token: Redacted.Redacted
}

export class AgentRuntime extends Context.Tag("@berth/AgentRuntime")<
  AgentRuntime,
  {
    /** Replaces the set of agents. Turns in progress continue. */
    readonly configure: (
      access: RuntimeAccess,
      agents: ReadonlyArray<RuntimeAgent>
    ) => Effect.Effect<void, RuntimeUnreachable>
    /** Bytes of all agents' files; none for a runtime of an earlier release. */
    readonly measureStorage: (access: RuntimeAccess) => Effect.Effect<Option.Option<number>, RuntimeUnreachable>
    /** Returns after the runtime has accepted the turn. Closing the scope ends the turn. */
    readonly chat: (
      access: RuntimeAccess,
      turn: Turn
    ) => Effect.Effect<TurnEvents<RuntimeUnreachable | TurnFailed>, RuntimeUnreachable | TurnFailed, Scope.Scope>
  }
>() {}
