import { Data, Either } from "effect"
import { parseArgs } from "node:util"

const scenarioNames = [
  "startup",
  "provision",
  "read",
  "session",
  "sign-in",
  "register",
  "chat",
  "channels",
  "gateway",
  "charge",
  "jobs",
  "stream",
  "memory",
  "socket",
  "crowd",
  "wake",
  "scale"
] as const
export type ScenarioName = (typeof scenarioNames)[number]

export interface Options {
  /** Small samples: a rough run of about seven minutes. */
  readonly quick: boolean
  /** Uses DATABASE_URL and REDIS_URL instead of the embedded PostgreSQL. */
  readonly redis: boolean
  /** Also writes a processor profile and a flame graph of each measured server. */
  readonly profile: boolean
  readonly only: ReadonlyArray<ScenarioName>
}

class OptionsInvalid extends Data.TaggedError("OptionsInvalid")<{ readonly reason: string }> {
  override get message() {
    return `${this.reason}\nnpm run bench -- [--quick] [--redis] [--profile] [--only ${scenarioNames.join("|")}]...`
  }
}

const isScenarioName = (name: string): name is ScenarioName => scenarioNames.some((known) => known === name)

export const parseOptions = (args: ReadonlyArray<string>): Either.Either<Options, OptionsInvalid> =>
  Either.try({
    try: () =>
      parseArgs({
        args: [...args],
        options: {
          quick: { type: "boolean", default: false },
          redis: { type: "boolean", default: false },
          profile: { type: "boolean", default: false },
          only: { type: "string", multiple: true, default: [] }
        }
      }).values,
    catch: (cause) => new OptionsInvalid({ reason: cause instanceof Error ? cause.message : String(cause) })
  }).pipe(
    Either.flatMap(({ only, ...flags }) => {
      const unknown = only.filter((name) => !isScenarioName(name))
      return unknown.length > 0
        ? Either.left(new OptionsInvalid({ reason: `Unknown scenario: ${unknown.join(", ")}.` }))
        : Either.right({ ...flags, only: only.length === 0 ? scenarioNames : only.filter(isScenarioName) })
    })
  )
