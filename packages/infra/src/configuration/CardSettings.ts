import { Config, ConfigError, Either, Record, Redacted } from "effect"

/* Readers of the card processor settings; `Settings` defines their names. */

/** Reads `price_1:5,price_2:15`: price ids with the credits sold at them. */
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

/** Reads a secret with one of the prefixes; errors never contain it. */
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
    /** Price ids at the card processor; absent if prices are created on demand. */
    planPrices: Config.all(Record.map(names.plans, (name) => priceId(name))),
    storagePrice: priceId(names.storage),
    creditPrices: creditPrices(names.credits)
  })
