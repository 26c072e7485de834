import { SkillCatalog, SkillId } from "@berth/domain/skills/Skill"
import * as FolderSkillCatalog from "@berth/infra/skills/FolderSkillCatalog"
import { describe, expect, it, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { sampleSkillCatalog } from "../support/SkillSamples.ts"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"

const shipped = fileURLToPath(new URL("../../packages/runtime/skills", import.meta.url))

for (const [name, catalog] of [
  ["in folders", FolderSkillCatalog.layer(shipped)],
  ["of samples", sampleSkillCatalog]
] as const)
  layer(catalog)(`SkillCatalog: ${name}`, (it) => {
    it.effect("names every skill once, and says what each is for and how it is used", () =>
      Effect.gen(function* () {
        const skills = yield* SkillCatalog
        const ids = skills.map(({ id }) => id)
        expect(ids.length).toBeGreaterThan(0)
        expect(new Set(ids).size).toBe(ids.length)
        for (const skill of skills) {
          expect(Schema.is(SkillId)(skill.id)).toBe(true)
          expect(skill.name.trim()).not.toBe("")
          expect(skill.description.length).toBeGreaterThan(0)
          expect(skill.description.length).toBeLessThanOrEqual(1024)
          expect(skill.instructions.trim()).not.toBe("")
          for (const tool of skill.tools) expect(tool).toMatch(/^[A-Za-z0-9_]{1,64}$/)
        }
      })
    )

    it.effect("has skills for every plan, and shows them first", () =>
      Effect.gen(function* () {
        const basic = (yield* SkillCatalog).map((skill) => skill.basic)
        expect(basic[0]).toBe(true)
        expect(basic).toStrictEqual([...basic].sort((one, other) => Number(other) - Number(one)))
      })
    )
  })

describe("the skill folders", () => {
  it.effect("are those that the service ships", () =>
    Effect.gen(function* () {
      const skills = yield* FolderSkillCatalog.readSkills(shipped)
      expect(skills.map(({ basic, id, tools }) => ({ id, basic, tools }))).toStrictEqual([
        { id: "calculator", basic: true, tools: ["calculate"] },
        { id: "memory", basic: true, tools: ["remember", "recall"] },
        { id: "time", basic: true, tools: ["current_time"] },
        { id: "files", basic: false, tools: ["list_files", "read_file", "write_file", "delete_file"] },
        { id: "web-fetch", basic: false, tools: ["fetch_web_page"] }
      ])
    })
  )

  it.scopedLive("say in one sentence which file is broken, and how", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const said = Effect.map(Effect.flip(FolderSkillCatalog.readSkills(directory)), ({ message }) => message)
      yield* Effect.promise(() => writeFile(join(directory, "README.md"), "no skill"))
      expect(yield* FolderSkillCatalog.readSkills(directory)).toStrictEqual([])
      yield* Effect.promise(() => mkdir(join(directory, "weather")))
      const file = join(directory, "weather", "SKILL.md")
      expect(yield* said).toBe(`The skill file ${file} cannot be used: it is not there.`)
      yield* Effect.promise(() => writeFile(file, "---\nname: weather\n---\n"))
      expect(yield* said).toBe(`The skill file ${file} cannot be used: description is missing.`)
      yield* Effect.promise(() => writeFile(file, "x".repeat(300 * 1024)))
      expect(yield* said).toContain("it is longer than")
      expect(yield* Effect.flip(FolderSkillCatalog.readSkills(join(directory, "nowhere")))).toMatchObject({
        fault: "it is not there"
      })
    })
  )
})
