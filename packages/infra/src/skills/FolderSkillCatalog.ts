import { type Skill, SkillCatalog } from "@berth/domain/skills/Skill"
import { Array, Data, Effect, Either, Layer, Order } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { parseSkillFile, skillFileName } from "./SkillFile.ts"

/** A shipped skill is invalid. */
class SkillFileInvalid extends Data.TaggedError("SkillFileInvalid")<{
  readonly file: string
  readonly fault: string
}> {
  override readonly message = `The skill file ${this.file} cannot be used: ${this.fault}.`
}

const describeReadFailure = (cause: unknown) =>
  cause instanceof Error && "code" in cause && cause.code === "ENOENT"
    ? "it is not there"
    : `it cannot be read (${String(cause)})`

/** Maximum bytes of SKILL.md. */
const limit = 256 * 1024

const readSkill = (directory: string, folder: string) => {
  const file = join(directory, folder, skillFileName)
  return Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: (cause) => new SkillFileInvalid({ file, fault: describeReadFailure(cause) })
  }).pipe(
    Effect.filterOrFail(
      ({ length }) => length <= limit,
      () => new SkillFileInvalid({ file, fault: `it is longer than ${limit} characters` })
    ),
    Effect.flatMap((text) =>
      Either.mapLeft(parseSkillFile(folder, text), (fault) => new SkillFileInvalid({ file, fault }))
    )
  )
}

/** Basic skills first, then by name. */
const catalogOrder: Order.Order<Skill> = Order.combine(
  Order.mapInput(Order.reverse(Order.boolean), ({ basic }: Skill) => basic),
  Order.mapInput(Order.string, ({ id }: Skill) => id)
)

/** Reads the skill folders of a directory in the AgentSkills format (https://agentskills.io/specification). */
export const readSkills = (directory: string): Effect.Effect<ReadonlyArray<Skill>, SkillFileInvalid> =>
  Effect.tryPromise({
    try: () => readdir(directory, { withFileTypes: true }),
    catch: (cause) => new SkillFileInvalid({ file: directory, fault: describeReadFailure(cause) })
  }).pipe(
    Effect.map((entries) =>
      entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".")).map(({ name }) => name)
    ),
    Effect.flatMap(Effect.forEach((folder) => readSkill(directory, folder), { concurrency: 8 })),
    Effect.map(Array.sort(catalogOrder))
  )

export const layer = (directory: string): Layer.Layer<SkillCatalog, SkillFileInvalid> =>
  Layer.effect(SkillCatalog, readSkills(directory))
