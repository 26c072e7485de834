import { type Skill, SkillId } from "@berth/domain/skills/Skill"
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

/** The front matter; unknown members are ignored. */
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
  const document = parseDocument(source, { prettyErrors: false })
  const [error] = document.errors
  if (error !== undefined) return Either.left(`its front matter is not YAML: ${error.message.split("\n")[0] ?? ""}`)
  return Either.try({ try: (): unknown => document.toJS(), catch: () => "its front matter is not YAML" })
}

const faults = (error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)
    .map(({ _tag, message, path }) => {
      if (path.length === 0) return "its front matter is not a map"
      return `${path.join(".")} ${_tag === "Missing" ? "is missing" : message}`
    })
    .join("; ")

/** Parses a SKILL.md, or returns its fault. */
export const parseSkillFile = (folder: string, source: string): Either.Either<Skill, string> =>
  Either.gen(function* () {
    const parts = split.exec(source.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n"))
    if (parts === null) return yield* Either.left("it does not begin with front matter between two lines of ---")
    const matter = yield* Either.mapLeft(decode(yield* yaml(parts[1] ?? "")), faults)
    if (matter.name !== folder) return yield* Either.left(`name is ${matter.name}, but its folder is ${folder}`)
    const instructions = (parts[2] ?? "").trim()
    return {
      id: matter.name,
      name: /^#[ \t]+(.+?)[ \t#]*$/m.exec(instructions)?.[1] ?? matter.name,
      description: matter.description,
      instructions,
      tools: matter["allowed-tools"],
      basic: matter.metadata[tierKey] === "basic"
    }
  })
