import { ConfigProvider, ConfigProviderPathPatch, Data, Effect, Either } from "effect"
import { existsSync } from "node:fs"
import { findDataDirectoryFaults } from "./DataDirectoryFaults.ts"
import { describeConfigError, makeEnvironmentProvider } from "./EnvironmentProvider.ts"
import { describeNearMiss, findNearMisses } from "./NearMisses.ts"
import { Settings } from "./Settings.ts"
import { findSettingsFaults, type ProgramKind } from "./SettingsFaults.ts"

type Environment = Readonly<Record<string, string | undefined>>

const toLines = (lines: ReadonlyArray<string>) => lines.map((line) => `\n  ${line}`).join("")

/** One message that names every invalid variable. */
export class SettingsInvalid extends Data.TaggedError("SettingsInvalid")<{
  readonly faults: ReadonlyArray<string>
  /** Unknown names that resemble a setting. */
  readonly warnings: ReadonlyArray<string>
}> {
  override get message() {
    return [
      `Berth cannot start with these settings:${toLines(this.faults)}`,
      ...(this.warnings.length === 0 ? [] : [`Possibly misspelled:${toLines(this.warnings)}`]),
      ".env.example describes every setting; `npm run setup` writes a complete .env."
    ].join("\n")
  }
}

export const settingNames: Effect.Effect<ReadonlySet<string>> = Effect.gen(function* () {
  const names = new Set<string>()
  const { flattened } = ConfigProvider.fromMap(new Map())
  const recorder = ConfigProvider.makeFlat({
    load: (path, primitive, split) => {
      names.add(path.join("_"))
      return flattened.load(path, primitive, split)
    },
    enumerateChildren: flattened.enumerateChildren,
    patch: ConfigProviderPathPatch.empty
  })
  yield* Effect.orDie(Effect.withConfigProvider(Settings, ConfigProvider.fromFlat(recorder)))
  return names
})

const nameOf = (fault: string) => fault.slice(0, fault.indexOf(":"))

const read = (environment: Environment) =>
  Effect.either(
    Effect.withConfigProvider(
      Effect.suspend(() => Settings),
      makeEnvironmentProvider(environment)
    )
  )

/** Reads the settings without individually invalid variables, and returns the problems of those. */
const readGood = Effect.fnUntraced(function* (environment: Environment) {
  const settings = yield* read(environment)
  if (Either.isRight(settings)) return { settings: settings.right, faults: [] }
  const faults = describeConfigError(settings.left)
  const bad = new Set(faults.map(nameOf))
  const good = Object.fromEntries(Object.entries(environment).filter(([name]) => !bad.has(name)))
  const rest = Effect.mapError(Effect.flatten(read(good)), () => new SettingsInvalid({ faults, warnings: [] }))
  return { settings: yield* rest, faults }
})

/** Checks all settings of a program together, without creating anything. */
export const checkSettings = Effect.fn("Settings.check")(function* (environment: Environment, program: ProgramKind) {
  const { faults, settings } = yield* readGood(environment)
  const bad = new Set(faults.map(nameOf))
  const combined = [
    ...findSettingsFaults(settings, program),
    ...(yield* findDataDirectoryFaults(settings, program))
  ].filter((fault) => !bad.has(nameOf(fault)))
  const warnings = findNearMisses(environment, yield* settingNames).map(describeNearMiss)
  if (faults.length + combined.length > 0)
    return yield* new SettingsInvalid({ faults: [...faults, ...combined], warnings })
  return { settings, warnings }
})

/** Returns the settings of a server, or all of their problems. */
export const loadSettings = (environment: Environment): Effect.Effect<Settings, SettingsInvalid> =>
  Effect.map(checkSettings(environment, "server"), ({ settings }) => settings)

/** Reads `.env` in the working directory and checks the settings. Environment variables take precedence. */
export const loadProcessSettings = (program: ProgramKind) =>
  Effect.zipRight(
    Effect.try({
      try: () => {
        if (existsSync(".env")) process.loadEnvFile(".env")
      },
      catch: (cause) => new SettingsInvalid({ faults: [`.env: cannot be read; ${String(cause)}`], warnings: [] })
    }),
    checkSettings(process.env, program)
  )
