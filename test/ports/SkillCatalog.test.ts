import { SkillCatalog, SkillId } from "@berth/domain/skills/Skill"
import * as FolderSkillCatalog from "@berth/infra/skills/FolderSkillCatalog"
import { assert, describe, it, layer } from "@effect/vitest"
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
    it.effect("SkillCatalog lists each skill once, with a description and instructions", () =>
      Effect.gen(function* () {
        const skills = yield* SkillCatalog
        const ids = skills.map(({ id }) => id)
        assert.isAbove(ids.length, 0)
        assert.strictEqual(new Set(ids).size, ids.length)
        for (const skill of skills) {
          assert.isTrue(Schema.is(SkillId)(skill.id))
          assert.notStrictEqual(skill.name.trim(), "")
          assert.isAbove(skill.description.length, 0)
          assert.isAtMost(skill.description.length, 1024)
          assert.notStrictEqual(skill.instructions.trim(), "")
          for (const tool of skill.tools) assert.match(tool, /^[A-Za-z0-9_]{1,64}$/)
        }
      })
    )

    it.effect("SkillCatalog lists basic skills first", () =>
      Effect.gen(function* () {
        const basic = (yield* SkillCatalog).map((skill) => skill.basic)
        assert.isTrue(basic[0])
        assert.deepStrictEqual(
          basic,
          [...basic].sort((a, b) => Number(b) - Number(a))
        )
      })
    )
  })

describe("the skill folders", () => {
  it.effect("readSkills returns the skills that the service ships", () =>
    Effect.gen(function* () {
      const skills = yield* FolderSkillCatalog.readSkills(shipped)
      assert.deepStrictEqual(
        skills.map(({ basic, id, tools }) => ({ id, basic, tools })),
        [
          { id: "calculator", basic: true, tools: ["calculate"] },
          { id: "memory", basic: true, tools: ["remember", "recall"] },
          { id: "time", basic: true, tools: ["current_time"] },
          {
            id: "a2a-send",
            basic: false,
            tools: ["list_agents", "send_message", "delegate_task", "delegate_skill"]
          },
          { id: "files", basic: false, tools: ["list_files", "read_file", "write_file", "delete_file"] },
          { id: "wallet", basic: false, tools: ["get_balance", "send_usdc", "x402_payments"] },
          { id: "web-fetch", basic: false, tools: ["fetch_web_page"] }
        ]
      )
    })
  )

  it.scopedLive("readSkills names the broken file and its fault in one sentence", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const failureMessage = Effect.map(Effect.flip(FolderSkillCatalog.readSkills(directory)), ({ message }) => message)
      yield* Effect.promise(() => writeFile(join(directory, "README.md"), "no skill"))
      assert.deepStrictEqual(yield* FolderSkillCatalog.readSkills(directory), [])
      yield* Effect.promise(() => mkdir(join(directory, "weather")))
      const file = join(directory, "weather", "SKILL.md")
      assert.strictEqual(yield* failureMessage, `The skill file ${file} cannot be used: it is not there.`)
      yield* Effect.promise(() => writeFile(file, "---\nname: weather\n---\n"))
      assert.strictEqual(yield* failureMessage, `The skill file ${file} cannot be used: description is missing.`)
      yield* Effect.promise(() => writeFile(file, "x".repeat(300 * 1024)))
      assert.include(yield* failureMessage, "it is longer than")
      assert.containSubset(yield* Effect.flip(FolderSkillCatalog.readSkills(join(directory, "nowhere"))), {
        fault: "it is not there"
      })
    })
  )
})
