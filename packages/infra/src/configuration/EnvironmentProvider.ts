import { type ConfigError, ConfigProvider } from "effect"

/** The process's environment as a source of settings; a variable that is set to nothing is not set. */
export const makeEnvironmentProvider = (environment: Readonly<Record<string, string | undefined>>) =>
  ConfigProvider.fromMap(
    new Map(
      Object.entries(environment).flatMap(([name, value]) =>
        value === undefined || value.trim() === "" ? [] : [[name, value.trim()] as const]
      )
    )
  )

/** `NAME: problem` of every bad variable. */
export const describeConfigError = (error: ConfigError.ConfigError): ReadonlyArray<string> => {
  switch (error._op) {
    case "And":
    case "Or":
      return [...new Set([...describeConfigError(error.left), ...describeConfigError(error.right)])]
    case "MissingData":
      return [`${error.path.join("_")}: is missing`]
    case "InvalidData":
    case "SourceUnavailable":
    case "Unsupported":
      return [`${error.path.join("_")}: ${error.message}`]
  }
}
