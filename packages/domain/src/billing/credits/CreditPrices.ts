import { Context } from "effect"

/** Prices at the card processor that credits may be bought at: how many credits, by the price's id. Set by the operator. */
export class CreditPrices extends Context.Tag("@berth/CreditPrices")<CreditPrices, ReadonlyMap<string, number>>() {}
