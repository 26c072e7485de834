import { type Skill, SkillId } from "@berth/domain/skills/Skill"
import { skillLimits } from "@berth/domain/skills/uploads/SkillPackage"
import { Either, ParseResult, Schema } from "effect"
import { parseDocument } from "yaml"

export const skillFileName = "SKILL.md"

const ToolName = Schema.String.pipe(
  Schema.pattern(/^[A-Za-z0-9_]{1,64}$/, { message: () => "must be names of letters, digits and underscores" })
)

const SpaceSeparated = Schema.transform(Schema.String, Schema.Array(Schema.String), {
  strict: true,
  decode: (text) => text.split(/\s+/).filter((name) => name !== ""),
  encode: (names) => names.join(" ")
})

const text = (limit: number) =>
  Schema.Trim.pipe(
    Schema.filter((value) =>
      value.length >= 1 && value.length <= limit ? undefined : `must have 1 to ${limit} characters`
    )
  )

/** Front matter; unknown members are ignored. */
const FrontMatter = Schema.Struct({
  name: SkillId.annotations({
    message: () => ({ message: "must be lower case, digits and single hyphens, at most 64 characters", override: true })
  }),
  description: text(1024),
  license: Schema.optional(Schema.String),
  compatibility: Schema.optional(text(500)),
  metadata: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), {
    default: () => ({})
  }),
  "allowed-tools": Schema.optionalWith(
    Schema.compose(Schema.Union(Schema.Array(Schema.String), SpaceSeparated), Schema.Array(ToolName)),
    { default: () => [] }
  )
})

const decode = Schema.decodeUnknownEither(FrontMatter, { errors: "all" })

/** Key of `metadata`; `basic` includes the skill in all plans. */
const tierKey = "berth-tier"

const split = /^---[ \t]*\n([\s\S]*?)(?:^|\n)---[ \t]*(?:\n([\s\S]*))?$/

const yaml = (source: string): Either.Either<unknown, string> => {
  // Deep nesting overflows the parser's stack.
  const parsed = Either.try({
    try: () => parseDocument(source, { prettyErrors: false }),
    catch: () => "its front matter is not YAML"
  })
  if (Either.isLeft(parsed)) return Either.left(parsed.left)
  const document = parsed.right
  const [error] = document.errors
  if (error !== undefined) return Either.left(`its front matter is not YAML: ${error.message.split("\n")[0] ?? ""}`)
  return Either.try({ try: (): unknown => document.toJS(), catch: () => "its front matter is not YAML" })
}

const faults = (error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)
    .map(({ _tag, message, path }) => {
      if (_tag === "Unexpected") return `${path.join(".")} is not a member of the format`
      if (path.length === 0) return "its front matter is not a map"
      return `${path.join(".")} ${_tag === "Missing" ? "is missing" : message}`
    })
    .join("; ")

const splitSource = (source: string) =>
  Either.fromNullable(
    split.exec(source.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n")),
    () => "it does not begin with front matter between two lines of ---"
  )

const describe = (matter: Pick<typeof FrontMatter.Type, "name" | "description">, body: string | undefined) => {
  const instructions = (body ?? "").trim()
  const heading = /^#[ \t].{0,200}/m.exec(instructions)?.[0] ?? ""
  return {
    id: matter.name,
    name: /^#[ \t]+(.+?)[ \t#]*$/.exec(heading)?.[1] ?? matter.name,
    description: matter.description,
    instructions
  }
}

/** Parses a SKILL.md, or returns its fault. */
export const parseSkillFile = (folder: string, source: string): Either.Either<Skill, string> =>
  Either.gen(function* () {
    const parts = yield* splitSource(source)
    const matter = yield* Either.mapLeft(decode(yield* yaml(parts[1] ?? "")), faults)
    if (matter.name !== folder) return yield* Either.left(`name is ${matter.name}, but its folder is ${folder}`)
    return {
      ...describe(matter, parts[2]),
      tools: matter["allowed-tools"],
      basic: matter.metadata[tierKey] === "basic"
    }
  })

/**
 * Front matter of external authors: `allowed-tools` may name tools of other agents, and unknown members are errors, as
 * in the AgentSkills validator.
 */
const UploadedFrontMatter = Schema.Struct({
  ...FrontMatter.fields,
  "allowed-tools": Schema.optional(Schema.Union(Schema.Array(Schema.String), Schema.String))
})
const decodeUploaded = Schema.decodeUnknownEither(UploadedFrontMatter, { errors: "all", onExcessProperty: "error" })

/** Parses the SKILL.md of an uploaded folder; null for a folder without a name. */
export const parseUploadedSkillFile = (folder: string | null, source: string) =>
  Either.gen(function* () {
    const [, front = "", body] = yield* splitSource(source)
    if (front.length > skillLimits.frontMatter)
      return yield* Either.left(`its front matter has more than ${skillLimits.frontMatter} characters`)
    const matter = yield* Either.mapLeft(decodeUploaded(yield* yaml(front)), faults)
    if (folder !== null && matter.name !== folder)
      return yield* Either.left(`name is ${matter.name}, but its folder is ${folder}`)
    return describe(matter, body)
  })
