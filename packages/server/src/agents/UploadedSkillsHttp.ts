import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { WebApi } from "@berth/api/WebApi"
import { SkillUploads } from "@berth/domain/agents/SkillUploads"
import { SkillInvalid, type SkillSource } from "@berth/domain/skills/uploads/SkillPackage"
import type { StoredSkill } from "@berth/domain/skills/uploads/UploadedSkillRepository"
import { Effect, Either, Struct } from "effect"
import { group } from "../http/ApiGroup.ts"

const view = ({ code, ...skill }: StoredSkill) => ({
  ...Struct.pick(skill, "id", "name", "description", "size", "createdAt", "updatedAt"),
  tools: code.tools
})

interface Upload {
  readonly zip?: Uint8Array | undefined
  readonly files?:
    ReadonlyArray<{ readonly path: string; readonly content: string; readonly encoding: "utf8" | "base64" }> | undefined
}

const readSource = ({ files, zip }: Upload): Either.Either<SkillSource, SkillInvalid> => {
  if ((zip === undefined) === (files === undefined))
    return Either.left(new SkillInvalid({ reason: "Give either zip or files." }))
  if (zip !== undefined) return Either.right({ zip })
  return Either.right({
    files: (files ?? []).map(({ content, encoding, path }) => ({ path, content: Buffer.from(content, encoding) }))
  })
}

export const layer = group(WebApi, "uploadedSkills", (handlers) =>
  Effect.map(SkillUploads, (skills) =>
    handlers
      .handle("list", () =>
        Effect.gen(function* () {
          const uploads = yield* skills.list((yield* OwnedAgent).agent)
          return { skills: uploads.map(view), count: uploads.length, status: "ok" as const }
        })
      )
      .handle("upload", ({ payload }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          return { skill: view(yield* skills.upload(agent, yield* readSource(payload))) }
        })
      )
      .handle("remove", ({ path: { skillId } }) =>
        Effect.gen(function* () {
          yield* skills.remove((yield* OwnedAgent).agent, skillId)
          return { success: true }
        })
      )
  )
)
