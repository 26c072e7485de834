import { Schema } from "effect"

export const Reason = Schema.Trim.pipe(
  Schema.filter((text) => text.length > 0 && text.length <= 500, { message: () => "must have 1 to 500 characters" })
).annotations({ description: "Stored in the audit log", jsonSchema: { type: "string", minLength: 1, maxLength: 500 } })

/** A nonzero number of credits with at most two decimals. */
export const CreditAmount = Schema.Number.pipe(
  Schema.filter((amount) => amount !== 0 && Math.abs(amount) <= 1_000_000 && Number(amount.toFixed(2)) === amount, {
    message: () => "must be a number other than 0 with at most two decimals, from -1000000 to 1000000"
  }),
  Schema.brand("Credits")
).annotations({ description: "Negative to remove credits; at most two decimals" })
