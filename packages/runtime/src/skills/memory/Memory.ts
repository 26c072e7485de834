import type { RuntimeRecollection } from "@berth/api/runtime/RuntimeContract"
import type { ToolFailed } from "@berth/domain/skills/tools/Tool"
import { Context, type Effect } from "effect"
import type { TurnAgent } from "../Toolbox.ts"

/** The backend determines by the turn which notes are written and read. */
type MemoryTurn = Pick<TurnAgent, "id" | "messageId">

/** Memory across conversations. */
export class Memory extends Context.Tag("@berth/runtime/Memory")<
  Memory,
  {
    /** Stores a trimmed note of at most `maximumMemoryText` characters. */
    readonly note: (turn: MemoryTurn, text: string) => Effect.Effect<void, ToolFailed>
    /** Best match first. */
    readonly recall: (
      turn: MemoryTurn,
      query: string
    ) => Effect.Effect<ReadonlyArray<typeof RuntimeRecollection.Type>, ToolFailed>
  }
>() {}
