import { UserId } from "@berth/domain/accounts/User"
import { Wallet } from "@berth/domain/accounts/Wallet"
import { WalletRepository } from "@berth/domain/accounts/WalletRepository"
import { WalletAddress, walletKey } from "@berth/domain/chain/WalletAddress"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { all, first } from "./Rows.ts"
import { storableText } from "./Storable.ts"

const WalletRow = Schema.Struct({
  address: WalletAddress,
  userId: UserId,
  linkedAt: Schema.DateTimeUtcFromDate
})
const toWallet = (row: typeof WalletRow.Type) => Wallet.make(row)

export const layer: Layer.Layer<WalletRepository, never, SqlClient> = Layer.effect(
  WalletRepository,
  Effect.map(SqlClient, (sql) =>
    WalletRepository.of({
      holdAddress: Effect.fn("WalletRepository.holdAddress")(function* (address: WalletAddress) {
        // There may be no row to lock yet.
        yield* sql`select pg_advisory_xact_lock(hashtextextended(${`berth.wallet ${walletKey(address)}`}, 0))`.pipe(
          Effect.orDie
        )
      }),
      holdOwner: Effect.fn("WalletRepository.holdOwner")(function* (userId: UserId) {
        // Not so strong that a new session, which refers to the user, would have to wait.
        yield* sql`select from users where id = ${storableText(userId)} for no key update`.pipe(Effect.orDie)
      }),
      find: Effect.fn("WalletRepository.find")(function* (address: WalletAddress) {
        const row = yield* sql`select * from wallets where lower(address) = ${walletKey(address)}`.pipe(
          first(WalletRow),
          Effect.orDie
        )
        return Option.map(row, toWallet)
      }),
      listOf: Effect.fn("WalletRepository.listOf")(function* (userId: UserId) {
        const rows = yield* sql`
          select * from wallets where user_id = ${storableText(userId)} order by linked_at, lower(address)`.pipe(
          all(WalletRow),
          Effect.orDie
        )
        return rows.map(toWallet)
      }),
      insert: Effect.fn("WalletRepository.insert")(function* ({ address, linkedAt, userId }: Wallet) {
        yield* sql`insert into wallets ${sql.insert({ address, userId, linkedAt: DateTime.toDate(linkedAt) })}`.pipe(
          Effect.orDie
        )
      }),
      removeAllOf: Effect.fn("WalletRepository.removeAllOf")(function* (userId: UserId) {
        yield* sql`delete from wallets where user_id = ${storableText(userId)}`.pipe(Effect.orDie)
      }),
      remove: Effect.fn("WalletRepository.remove")(function* (address: WalletAddress) {
        yield* sql`delete from wallets where lower(address) = ${walletKey(address)}`.pipe(Effect.orDie)
      })
    })
  )
)
