import { type CardCustomer, CardCustomerRepository } from "@berth/domain/billing/checkout/CardCustomerRepository"
import { CustomerId } from "@berth/domain/billing/checkout/CardProcessor"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Schema } from "effect"
import { decodeRows, decodeSingleRow } from "../Rows.ts"
import type { UserId } from "@berth/domain/shared/UserId"

const CustomerRow = Schema.Struct({ customerId: CustomerId, currency: Schema.Literal("GBP", "USD") })
const CustomerIdRow = Schema.Struct({ customerId: CustomerId })

export const layer: Layer.Layer<CardCustomerRepository, never, SqlClient> = Layer.effect(
  CardCustomerRepository,
  Effect.map(SqlClient, (sql) =>
    CardCustomerRepository.of({
      listByUser: Effect.fn("CardCustomerRepository.listByUser")((userId: UserId) =>
        sql`
          select customer_id, currency from card_customers where user_id = ${userId} order by created_at, currency`.pipe(
          decodeRows(CustomerRow)
        )
      ),
      listPayingFor: Effect.fn("CardCustomerRepository.listPayingFor")(function* (userId: UserId) {
        const rows = yield* sql`
          select customer_id from card_customers where user_id = ${userId}
          union select id from card_payers where user_id = ${userId}
          order by customer_id`.pipe(decodeRows(CustomerIdRow))
        return rows.map(({ customerId }) => customerId)
      }),
      add: Effect.fn("CardCustomerRepository.add")(function* (userId: UserId, { currency, customerId }: CardCustomer) {
        const createdAt = DateTime.toDate(yield* DateTime.now)
        const stored = yield* sql`
          insert into card_customers as stored ${sql.insert({ userId, currency, customerId, createdAt })}
          on conflict (user_id, currency) do update set customer_id = stored.customer_id
          returning customer_id`.pipe(decodeSingleRow(CustomerIdRow))
        return stored.customerId
      }),
      replace: Effect.fn("CardCustomerRepository.replace")(function* (userId, gone, { currency, customerId }) {
        const current = yield* sql`
          update card_customers
          set customer_id = case when customer_id = ${gone} then ${customerId} else customer_id end
          where user_id = ${userId} and currency = ${currency}
          returning customer_id`.pipe(decodeSingleRow(CustomerIdRow))
        return current.customerId
      })
    })
  )
)
