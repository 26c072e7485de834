import type { RuntimeRecollection } from "@berth/api/runtime/RuntimeContract"
import { Context, Data, type Effect } from "effect"
import type { AgentId } from "@berth/domain/shared/AgentId"

/** The reason is a sentence. */
export class MemoryFailed extends Data.TaggedError("MemoryFailed")<{ readonly reason: string }> {}

/** Memory across conversations. */
export class Memory extends Context.Tag("@berth/runtime/Memory")<
  Memory,
  {
    /** Stores a trimmed note of at most `maximumMemoryText` characters. */
    readonly note: (agentId: AgentId, text: string) => Effect.Effect<void, MemoryFailed>
    /** Best match first. */
    readonly recall: (
      agentId: AgentId,
      query: string
    ) => Effect.Effect<ReadonlyArray<typeof RuntimeRecollection.Type>, MemoryFailed>
  }
>() {}
