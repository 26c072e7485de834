import { Config, ConfigError, Either, Record, Redacted } from "effect"

/*
 * How the settings about the card processor are read; their names stand with all others.
 */

/** `price_1:5,price_2:15`: the id of a price, and the credits sold at it. */
const creditPrices = (name: string): Config.Config<ReadonlyMap<string, number>> =>
  Config.array(Config.string(), name).pipe(
    Config.mapOrFail((entries) => {
      const read = entries.map((entry) => /^\s*([A-Za-z0-9_]+)\s*:\s*(\d{1,7}(?:\.\d{1,2})?)\s*$/.exec(entry))
      const prices = read.flatMap((found) =>
        found?.[1] !== undefined && Number(found[2]) > 0 ? [[found[1], Number(found[2])] as const] : []
      )
      return prices.length === entries.length
        ? Either.right(new Map(prices))
        : Either.left(ConfigError.InvalidData([name], "must be price_id:credits, comma-separated"))
    }),
    Config.withDefault(new Map<string, number>())
  )

/** A secret that begins with one of the prefixes; its problem never repeats it. */
export const prefixedSecret = (name: string, ...prefixes: readonly [string, ...ReadonlyArray<string>]) =>
  Config.redacted(name).pipe(
    Config.mapOrFail((secret) =>
      prefixes.some((prefix) => Redacted.value(secret).startsWith(prefix))
        ? Either.right(secret)
        : Either.left(ConfigError.InvalidData([name], `must begin with ${prefixes.join(" or ")}`))
    ),
    Config.option
  )

const priceId = (name: string) =>
  Config.string(name).pipe(
    Config.validate({ message: "must be a price id without spaces", validation: (id) => /^\S+$/.test(id) }),
    Config.option
  )

export const readCardSettings = <Plan extends string>(names: {
  readonly webhookSecret: string
  readonly plans: Readonly<Record<Plan, string>>
  readonly storage: string
  readonly credits: string
}) =>
  Config.all({
    /** Signing secret of card events. */
    webhookSecret: prefixedSecret(names.webhookSecret, "whsec_"),
    /** Ids of prices there; none where prices are made when they are needed. */
    planPrices: Config.all(Record.map(names.plans, (name) => priceId(name))),
    storagePrice: priceId(names.storage),
    creditPrices: creditPrices(names.credits)
  })
