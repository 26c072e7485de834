import { Config, ConfigError, Either, Record } from "effect"

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

export const readCardSettings = <Plan extends string>(names: {
  readonly webhookSecret: string
  readonly plans: Readonly<Record<Plan, string>>
  readonly storage: string
  readonly credits: string
}) =>
  Config.all({
    /** Signing secret of card events. */
    webhookSecret: Config.option(Config.redacted(names.webhookSecret)),
    /** Ids of prices there; none where prices are made when they are needed. */
    planPrices: Config.all(Record.map(names.plans, (name) => Config.option(Config.string(name)))),
    storagePrice: Config.option(Config.string(names.storage)),
    creditPrices: creditPrices(names.credits)
  })
