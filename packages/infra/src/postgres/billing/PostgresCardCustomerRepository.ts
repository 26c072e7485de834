import { CardCustomerRepository } from "@berth/domain/billing/checkout/CardCustomerRepository"
import { CustomerId } from "@berth/domain/billing/checkout/CardProcessor"
import { DateTime, Effect, Schema } from "effect"
import { decodeRows, decodeSingleRow, mapRows } from "../Rows.ts"
import * as Repository from "../Repository.ts"

const CustomerRow = Schema.Struct({ customerId: CustomerId, currency: Schema.Literal("GBP", "USD") })
const CustomerIdRow = Schema.Struct({ customerId: CustomerId })

export const layer = Repository.layer(CardCustomerRepository, (sql) => ({
  listByUser: (userId) =>
    sql`
      select customer_id, currency from card_customers where user_id = ${userId} order by created_at, currency`.pipe(
      decodeRows(CustomerRow)
    ),
  listPayingFor: (userId) =>
    sql`
      select customer_id from card_customers where user_id = ${userId}
      union select id from card_payers where user_id = ${userId}
      order by customer_id`.pipe(mapRows(CustomerIdRow, ({ customerId }) => customerId)),
  add: (userId, { currency, customerId }) =>
    Effect.gen(function* () {
      const createdAt = DateTime.toDate(yield* DateTime.now)
      const stored = yield* sql`
        insert into card_customers as stored ${sql.insert({ userId, currency, customerId, createdAt })}
        on conflict (user_id, currency) do update set customer_id = stored.customer_id
        returning customer_id`.pipe(decodeSingleRow(CustomerIdRow))
      return stored.customerId
    }),
  replace: (userId, absentId, { currency, customerId }) =>
    sql`
      update card_customers
      set customer_id = case when customer_id = ${absentId} then ${customerId} else customer_id end
      where user_id = ${userId} and currency = ${currency}
      returning customer_id`.pipe(
      decodeSingleRow(CustomerIdRow),
      Effect.map((current) => current.customerId)
    )
}))
