import { Effect, Ref } from "effect"
import type { User, UserId } from "../accounts/User.ts"
import type { Agent } from "../agents/Agent.ts"
import { ContextWindows } from "../ai/ContextWindows.ts"
import { Allowances } from "../billing/Allowances.ts"
import { SkillCatalogue } from "../skills/SkillCatalogue.ts"
import { AgentRuntime, type CellAccess, type RuntimeAgent } from "./AgentRuntime.ts"
import { BackendAddress } from "./BackendAddress.ts"
import type { Cell, CellSpec } from "./InstanceDriver.ts"
import { CellIsUnavailable } from "./InstanceErrors.ts"
import { InstanceRepository } from "./InstanceRepository.ts"

/** What an owner's cell is made of, and what it is told. */
export class CellContents extends Effect.Service<CellContents>()("@berth/CellContents", {
  effect: Effect.gen(function* () {
    const instances = yield* InstanceRepository
    const allowances = yield* Allowances
    const runtime = yield* AgentRuntime
    const backendUrl = yield* BackendAddress
    const skills = yield* SkillCatalogue
    const windows = yield* ContextWindows
    /** When the cell was started that this backend has told of its agents; one that is up need not know them yet. */
    const toldCells = yield* Ref.make<ReadonlyMap<UserId, number>>(new Map())

    const specOf = Effect.fn("CellContents.specOf")(function* (owner: User) {
      const { memoryMb, storageMb } = yield* allowances.of(owner)
      const token = yield* instances.cellToken(owner.id)
      return { owner: owner.id, memoryMb, diskMb: storageMb, token, backendUrl } satisfies CellSpec
    })

    const toRuntimeAgent = (agent: Agent): Effect.Effect<RuntimeAgent> => {
      const model = agent.customModel ?? agent.model
      return Effect.map(windows.of(model, agent.ownerId), (contextWindow) => ({
        id: agent.id,
        name: agent.name,
        model,
        contextWindow,
        systemPrompt: agent.config.systemPrompt,
        temperature: agent.config.temperature,
        maxTokens: agent.config.maxTokens,
        timezone: agent.config.timezone,
        skills: skills.filter(({ id }) => agent.config.skills.includes(id))
      }))
    }

    /** Makes the cell know exactly these agents. */
    const tell = Effect.fn("CellContents.tell")(
      function* (access: CellAccess, members: ReadonlyArray<Agent>) {
        yield* runtime.configure(access, yield* Effect.forEach(members, toRuntimeAgent))
        yield* Ref.update(toldCells, (all) => new Map(all).set(access.cell.owner, access.cell.startedAt.epochMillis))
      },
      Effect.mapError(({ reason }) => new CellIsUnavailable({ reason }))
    )

    const isTold = ({ owner, startedAt }: Cell) =>
      Effect.map(Ref.get(toldCells), (all) => all.get(owner) === startedAt.epochMillis)

    return { specOf, tell, isTold }
  })
}) {}
