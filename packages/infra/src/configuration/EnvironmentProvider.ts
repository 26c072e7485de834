import { type ConfigError, ConfigProvider } from "effect"

/** Provides settings from the process environment; empty variables count as unset. */
export const makeEnvironmentProvider = (environment: Readonly<Record<string, string | undefined>>) =>
  ConfigProvider.fromMap(
    new Map(
      Object.entries(environment).flatMap(([name, value]) =>
        value === undefined || value.trim() === "" ? [] : [[name, value.trim()] as const]
      )
    )
  )

/** Removes the repetition of a name that validations add. */
const toName = (path: ReadonlyArray<string>) => path.filter((part, index) => part !== path[index - 1]).join("_")

/** Describes every invalid variable as `NAME: problem`. */
export const describeConfigError = (error: ConfigError.ConfigError): ReadonlyArray<string> => {
  switch (error._op) {
    case "And":
    case "Or":
      return [...new Set([...describeConfigError(error.left), ...describeConfigError(error.right)])]
    case "MissingData":
      return [`${toName(error.path)}: is missing`]
    case "InvalidData":
    case "SourceUnavailable":
    case "Unsupported":
      return [`${toName(error.path)}: ${error.message}`]
  }
}
