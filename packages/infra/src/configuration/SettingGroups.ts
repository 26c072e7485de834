import { type Array, ConfigError, Either, Option } from "effect"

/** Returns one error per missing setting of an incomplete group, which requires all or none of its settings. */
export const findGroupErrors = (
  given: Readonly<Record<string, Option.Option<unknown>>>
): ReadonlyArray<ConfigError.ConfigError> => {
  const names = Object.keys(given)
  const missing = names.filter((name) => Option.isNone(given[name] ?? Option.none()))
  const present = names.filter((name) => !missing.includes(name))
  if (missing.length === 0 || present.length === 0) return []
  return [
    ...missing.map((name) =>
      ConfigError.InvalidData([name], `is missing; ${present.join(", ")} cannot work without it`)
    ),
    ...present.map((name) => ConfigError.InvalidData([name], `cannot work without ${missing.join(", ")}`))
  ]
}

/** Fails with all errors at once. */
export const failWithAll = ([first, ...rest]: Array.NonEmptyReadonlyArray<ConfigError.ConfigError>): Either.Either<
  never,
  ConfigError.ConfigError
> => Either.left(rest.reduce((all, one) => ConfigError.And(all, one), first))
