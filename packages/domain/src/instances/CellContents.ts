import { Effect, Ref } from "effect"
import type { User, UserId } from "../accounts/User.ts"
import { Users } from "../accounts/Users.ts"
import type { Agent } from "../agents/Agent.ts"
import { ContextWindows } from "../ai/ContextWindows.ts"
import { Allowances } from "../billing/Allowances.ts"
import type { PlanFeatures } from "../billing/PlanFeatures.ts"
import { SkillCatalogue } from "../skills/SkillCatalogue.ts"
import { usableSkills } from "../skills/UsableSkills.ts"
import { AgentRuntime, type CellAccess, type RuntimeAgent } from "./AgentRuntime.ts"
import { BackendAddress } from "./BackendAddress.ts"
import type { Cell, CellSpec } from "./InstanceDriver.ts"
import { CellIsUnavailable } from "./InstanceErrors.ts"
import { InstanceRepository } from "./InstanceRepository.ts"

/** What an owner's cell is made of, and what it is told. */
export class CellContents extends Effect.Service<CellContents>()("@berth/CellContents", {
  effect: Effect.gen(function* () {
    const instances = yield* InstanceRepository
    const users = yield* Users
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

    const toRuntimeAgent =
      (features: PlanFeatures) =>
      (agent: Agent): Effect.Effect<RuntimeAgent> => {
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
          skills: usableSkills(skills, features, agent.config.skills)
        }))
      }

    /** What the owner's plan has now, which may be less than what his agents were given once. */
    const featuresOf = (userId: UserId) =>
      users.find(userId).pipe(
        Effect.mapError(() => new CellIsUnavailable({ reason: "its owner is gone" })),
        Effect.flatMap(allowances.of),
        Effect.map(({ features }) => features)
      )

    /** Makes the cell know exactly these agents. */
    const tell = Effect.fn("CellContents.tell")(
      function* (access: CellAccess, members: ReadonlyArray<Agent>) {
        const features = yield* featuresOf(access.cell.owner)
        yield* runtime.configure(access, yield* Effect.forEach(members, toRuntimeAgent(features)))
        yield* Ref.update(toldCells, (all) => new Map(all).set(access.cell.owner, access.cell.startedAt.epochMillis))
      },
      Effect.mapError(({ reason }) => new CellIsUnavailable({ reason }))
    )

    const isTold = ({ owner, startedAt }: Cell) =>
      Effect.map(Ref.get(toldCells), (all) => all.get(owner) === startedAt.epochMillis)

    return { specOf, tell, isTold }
  })
}) {}
