import type { RuntimeRecollection } from "@berth/api/runtime/RuntimeContract"
import { Context, Data, type Effect } from "effect"
import type { AgentId } from "@berth/domain/shared/AgentId"

/** The memory did not do what it was asked for; the reason is a sentence. */
export class MemoryFailed extends Data.TaggedError("MemoryFailed")<{ readonly reason: string }> {}

/** What agents remember beyond a conversation. */
export class Memory extends Context.Tag("@berth/runtime/Memory")<
  Memory,
  {
    /** Keeps a note of the agent: 1 to 2,000 characters, without space around them. */
    readonly note: (agentId: AgentId, text: string) => Effect.Effect<void, MemoryFailed>
    /** What notes and earlier conversations say to a question of 2,000 characters at most, best match first. */
    readonly recall: (
      agentId: AgentId,
      query: string
    ) => Effect.Effect<ReadonlyArray<typeof RuntimeRecollection.Type>, MemoryFailed>
  }
>() {}
