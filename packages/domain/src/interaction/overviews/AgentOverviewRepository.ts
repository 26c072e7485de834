import { Context, type DateTime, type Effect } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { AgentOverview } from "./AgentOverview.ts"

/** Version of an agent's overview: `mark` changes with the overview. */
export interface AgentMark {
  readonly agentId: AgentId
  readonly ownerId: UserId
  readonly mark: string
}

/** Reads overviews of agents and their versions. */
export class AgentOverviewRepository extends Context.Tag("@berth/AgentOverviewRepository")<
  AgentOverviewRepository,
  {
    /** Marks of all agents of the owners. Cheap, since it is polled. */
    readonly listMarks: (owners: ReadonlyArray<UserId>) => Effect.Effect<ReadonlyArray<AgentMark>>
    /** `unitsToday` counts since `dayStart`. */
    readonly list: (
      agents: ReadonlyArray<AgentId>,
      dayStart: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<AgentOverview>>
  }
>() {}
