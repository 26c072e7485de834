import { Config, Either, Option, Record, Redacted } from "effect"
import { headerSecret, invalid, readList, readParsed } from "./SettingReaders.ts"

/* Readers of the card processor settings; `Settings` defines their names. */

/** Reads `price_1:5,price_2:15`: price ids with the credits sold at them. */
const creditPrices = (name: string): Config.Config<ReadonlyMap<string, number>> =>
  readList(name, parseCreditPrice, "must be price_id:credits, comma-separated").pipe(
    Config.mapOrFail((prices) => {
      const byId = new Map(prices)
      return byId.size === prices.length ? Either.right(byId) : Either.left(invalid(name, "names a price id twice"))
    }),
    Config.withDefault(new Map<string, number>())
  )

const parseCreditPrice = (entry: string) => {
  const [, id = "", credits] = /^([A-Za-z0-9_]+)\s*:\s*(\d{1,7}(?:\.\d{1,2})?)$/.exec(entry) ?? []
  return Number(credits) > 0 ? Option.some([id, Number(credits)] as const) : Option.none()
}

/** Reads a secret with one of the prefixes; errors never contain it. */
export const prefixedSecret = (name: string, ...prefixes: readonly [string, ...ReadonlyArray<string>]) =>
  headerSecret(name).pipe(
    Config.mapOrFail((secret) =>
      prefixes.some((prefix) => Redacted.value(secret).startsWith(prefix))
        ? Either.right(secret)
        : Either.left(invalid(name, `must begin with ${prefixes.join(" or ")}`))
    ),
    Config.option
  )

const priceId = (name: string) =>
  Config.option(
    readParsed(
      name,
      Option.liftPredicate((id: string) => /^\S+$/.test(id)),
      "must be a price id without spaces"
    )
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
