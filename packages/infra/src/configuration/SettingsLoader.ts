import { Data, Effect } from "effect"
import { describeConfigError, makeEnvironmentProvider } from "./EnvironmentProvider.ts"
import { Settings } from "./Settings.ts"
import { findSettingsFaults } from "./SettingsFaults.ts"

/** One message that names every bad variable. */
export class SettingsInvalid extends Data.TaggedError("SettingsInvalid")<{ readonly faults: ReadonlyArray<string> }> {
  override get message() {
    return `These settings are bad:\n${this.faults.map((fault) => `  - ${fault}`).join("\n")}`
  }
}

/** The settings of a process, or everything that is wrong with them. */
export const loadSettings = (
  environment: Readonly<Record<string, string | undefined>>
): Effect.Effect<Settings, SettingsInvalid> =>
  Effect.suspend(() => Settings).pipe(
    Effect.withConfigProvider(makeEnvironmentProvider(environment)),
    Effect.mapError((error) => new SettingsInvalid({ faults: describeConfigError(error) })),
    Effect.filterOrElse(
      (settings) => findSettingsFaults(settings).length === 0,
      (settings) => new SettingsInvalid({ faults: findSettingsFaults(settings) })
    )
  )
