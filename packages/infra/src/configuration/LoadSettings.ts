import { Data, Effect } from "effect"
import { describeConfigError, environmentProvider } from "./Environment.ts"
import { Settings } from "./Settings.ts"
import { settingsFaults } from "./SettingsFaults.ts"

/** One message that names every bad variable. */
export class SettingsAreBad extends Data.TaggedError("SettingsAreBad")<{ readonly faults: ReadonlyArray<string> }> {
  override get message() {
    return `These settings are bad:\n${this.faults.map((fault) => `  - ${fault}`).join("\n")}`
  }
}

/** The settings of a process, or everything that is wrong with them. */
export const loadSettings = (
  environment: Readonly<Record<string, string | undefined>>
): Effect.Effect<Settings, SettingsAreBad> =>
  Effect.suspend(() => Settings).pipe(
    Effect.withConfigProvider(environmentProvider(environment)),
    Effect.mapError((error) => new SettingsAreBad({ faults: describeConfigError(error) })),
    Effect.filterOrElse(
      (settings) => settingsFaults(settings).length === 0,
      (settings) => new SettingsAreBad({ faults: settingsFaults(settings) })
    )
  )
