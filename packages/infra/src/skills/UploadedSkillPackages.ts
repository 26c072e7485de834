import { SkillTool } from "@berth/domain/skills/SkillCode"
import {
  SkillInvalid,
  type SkillFile,
  skillLimits,
  SkillPackages,
  type SkillSource,
  type UploadedSkill
} from "@berth/domain/skills/uploads/SkillPackage"
import { Effect, Either, Layer, ParseResult, Schema } from "effect"
import { parseUploadedSkillFile, skillFileName } from "./SkillFile.ts"
import { readZip } from "./ZipFiles.ts"

/** Optional file of a skill's folder: an array of tools. */
const toolsFileName = "tools.json"

const invalid = (reason: string) => new SkillInvalid({ reason })

const sizeOf = (files: ReadonlyArray<SkillFile>) => files.reduce((sum, { content }) => sum + content.length, 0)

const segment = /^[A-Za-z0-9_-][A-Za-z0-9._ -]*$/

/** A relative path without dots, with characters that every file system accepts. */
const isSafePath = (path: string) =>
  path.length <= skillLimits.pathLength && path.split("/").every((part) => segment.test(part) && !part.endsWith("."))

/** Files added by archivers. */
const isIgnored = (path: string) => path.startsWith("__MACOSX/") || path.split("/").at(-1) === ".DS_Store"

const checkFiles = (received: ReadonlyArray<SkillFile>): Either.Either<ReadonlyArray<SkillFile>, SkillInvalid> => {
  const files = received.filter(({ path }) => !isIgnored(path))
  const unsafe = files.find(({ path }) => !isSafePath(path))
  if (unsafe !== undefined) return Either.left(invalid(`The path ${JSON.stringify(unsafe.path)} is not allowed.`))
  if (files.length > skillLimits.files)
    return Either.left(invalid(`The skill has ${files.length} files; ${skillLimits.files} are allowed.`))
  const size = sizeOf(files)
  if (size > skillLimits.bytes)
    return Either.left(invalid(`The skill has ${size} bytes; ${skillLimits.bytes} are allowed.`))
  const names = files.map(({ path }) => path.toLowerCase())
  const repeated = names.find(
    (name, at) => names.indexOf(name) !== at || names.some((path) => path.startsWith(`${name}/`))
  )
  return repeated === undefined ? Either.right(files) : Either.left(invalid(`The path ${repeated} is there twice.`))
}

/** Finds the folder: the root, or the only folder in the root. */
const findFolder = (files: ReadonlyArray<SkillFile>) => {
  if (files.some(({ path }) => path === skillFileName)) return { folder: null, files }
  const [folder = ""] = files[0]?.path.split("/") ?? []
  const inside = files.flatMap(({ content, path }) =>
    path.startsWith(`${folder}/`) ? [{ path: path.slice(folder.length + 1), content }] : []
  )
  return inside.length === files.length ? { folder, files: inside } : { folder: null, files }
}

const decodeText = (file: SkillFile) =>
  Either.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(file.content),
    catch: () => invalid(`${file.path} is not UTF-8 text.`)
  })

/** Whether nesting is limited, since decoding is recursive. */
const isShallow = (value: unknown, levels: number): boolean =>
  typeof value !== "object" ||
  value === null ||
  (levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1)))

const decodeTools = Schema.decodeUnknownEither(
  Schema.parseJson().pipe(
    Schema.filter((value) => isShallow(value, skillLimits.toolDepth) || "is nested too deeply"),
    Schema.compose(Schema.Array(SkillTool).pipe(Schema.maxItems(skillLimits.tools)))
  ),
  { errors: "all", onExcessProperty: "error" }
)

const readTools = (files: ReadonlyArray<SkillFile>) =>
  Either.gen(function* () {
    const file = files.find(({ path }) => path === toolsFileName)
    if (file === undefined) return []
    const tools = yield* Either.mapLeft(decodeTools(yield* decodeText(file)), (error) => {
      const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
      return invalid(`${toolsFileName}: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`.slice(0, 500))
    })
    const names = tools.map(({ name }) => name)
    const duplicate = names.find((name, at) => names.indexOf(name) !== at)
    if (duplicate !== undefined) return yield* Either.left(invalid(`${toolsFileName}: the name ${duplicate} is taken.`))
    const missing = tools.find(({ script }) => !files.some(({ path }) => path === script))
    if (missing !== undefined)
      return yield* Either.left(invalid(`${toolsFileName}: the script ${missing.script} is not in the folder.`))
    return tools
  })

/** Reads a skill's folder of an external author. */
export const readSkillFiles = (received: ReadonlyArray<SkillFile>): Either.Either<UploadedSkill, SkillInvalid> =>
  Either.gen(function* () {
    const { files, folder } = findFolder(yield* checkFiles(received))
    const main = files.find(({ path }) => path === skillFileName)
    if (main === undefined) return yield* Either.left(invalid(`The folder has no ${skillFileName}.`))
    const described = yield* Either.mapLeft(parseUploadedSkillFile(folder, yield* decodeText(main)), (fault) =>
      invalid(`${skillFileName}: ${fault}.`)
    )
    const tools = yield* readTools(files)
    return {
      ...described,
      tools: tools.map(({ name }) => name),
      basic: true,
      code: {
        tools,
        files: Object.fromEntries(files.map(({ content, path }) => [path, Buffer.from(content).toString("base64")]))
      },
      size: sizeOf(files)
    }
  })

const filesOf = (source: SkillSource) => ("zip" in source ? readZip(source.zip) : Effect.succeed(source.files))

export const layer = Layer.succeed(SkillPackages, {
  read: Effect.fn("SkillPackages.read")((source: SkillSource) => Effect.flatMap(filesOf(source), readSkillFiles))
})
