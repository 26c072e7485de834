import { type Array, Config, ConfigError, Either, Option, Redacted } from "effect"

export const optionalSecret = (name: string) => Config.option(Config.redacted(name))

export const isWebUrl = (value: string) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)

export const invalid = (name: string, problem: string): ConfigError.ConfigError =>
  ConfigError.InvalidData([name], problem)

export const readParsed = <A>(
  name: string,
  parse: (text: string) => Option.Option<A>,
  problem: string
): Config.Config<A> =>
  Config.mapOrFail(Config.string(name), (text) => Either.fromOption(parse(text), () => invalid(name, problem)))

/** Reads a comma-separated list by a parser of its entries. */
export const readList = <A>(
  name: string,
  parse: (entry: string) => Option.Option<A>,
  problem: string
): Config.Config<ReadonlyArray<A>> =>
  Config.mapOrFail(Config.array(Config.string(), name), (entries) =>
    Either.fromOption(Option.all(entries.map((entry) => parse(entry.trim()))), () => invalid(name, problem))
  )

/** Reads a secret that requests carry in a header; errors never contain it. */
export const headerSecret = (name: string): Config.Config<Redacted.Redacted> =>
  Config.redacted(name).pipe(
    Config.mapOrFail((secret) =>
      /^[\x20-\x7e\xa0-\xff]+$/.test(Redacted.value(secret))
        ? Either.right(secret)
        : Either.left(invalid(name, "must consist of characters that an HTTP header can carry; use printable ASCII"))
    )
  )

/** Returns one error per missing setting of an incomplete group, which requires all or none of its settings. */
export const findGroupErrors = (
  group: Readonly<Record<string, Option.Option<unknown>>>
): ReadonlyArray<ConfigError.ConfigError> => {
  const names = Object.keys(group)
  const missing = names.filter((name) => Option.isNone(group[name] ?? Option.none()))
  const present = names.filter((name) => !missing.includes(name))
  if (missing.length === 0 || present.length === 0) return []
  return [
    ...missing.map((name) => invalid(name, `is missing; ${present.join(", ")} cannot work without it`)),
    ...present.map((name) => invalid(name, `cannot work without ${missing.join(", ")}`))
  ]
}

export const failWithAll = ([first, ...rest]: Array.NonEmptyReadonlyArray<ConfigError.ConfigError>): Either.Either<
  never,
  ConfigError.ConfigError
> => Either.left(rest.reduce((all, error) => ConfigError.And(all, error), first))
