import { Wallet } from "@berth/domain/signin/wallets/Wallet"
import { WalletRepository } from "@berth/domain/signin/wallets/WalletRepository"
import { WalletAddress, normalizeWalletAddress } from "@berth/domain/chain/WalletAddress"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { decodeRows, decodeFirstRow } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { UserId } from "@berth/domain/shared/UserId"

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
      lockAddress: Effect.fn("WalletRepository.lockAddress")(function* (address: WalletAddress) {
        // Advisory lock: the row may not exist yet.
        yield* sql`select pg_advisory_xact_lock(hashtextextended(${`berth.wallet ${normalizeWalletAddress(address)}`}, 0))`.pipe(
          Effect.orDie
        )
      }),
      lockOwner: Effect.fn("WalletRepository.lockOwner")(function* (userId: UserId) {
        // `no key update` does not block the foreign key of a new session.
        yield* sql`select from users where id = ${toStorableText(userId)} for no key update`.pipe(Effect.orDie)
      }),
      find: Effect.fn("WalletRepository.find")(function* (address: WalletAddress) {
        const row = yield* sql`select * from wallets where lower(address) = ${normalizeWalletAddress(address)}`.pipe(
          decodeFirstRow(WalletRow),
          Effect.orDie
        )
        return Option.map(row, toWallet)
      }),
      listByUser: Effect.fn("WalletRepository.listByUser")(function* (userId: UserId) {
        const rows = yield* sql`
          select * from wallets where user_id = ${toStorableText(userId)} order by linked_at, lower(address)`.pipe(
          decodeRows(WalletRow),
          Effect.orDie
        )
        return rows.map(toWallet)
      }),
      insert: Effect.fn("WalletRepository.insert")(function* ({ address, linkedAt, userId }: Wallet) {
        yield* sql`insert into wallets ${sql.insert({ address, userId, linkedAt: DateTime.toDate(linkedAt) })}`.pipe(
          Effect.orDie
        )
      }),
      removeByUser: Effect.fn("WalletRepository.removeByUser")(function* (userId: UserId, since: DateTime.Utc) {
        yield* sql`
          delete from wallets
          where user_id = ${toStorableText(userId)} and linked_at >= ${DateTime.toDate(since)}`.pipe(Effect.orDie)
      }),
      remove: Effect.fn("WalletRepository.remove")(function* (address: WalletAddress) {
        yield* sql`delete from wallets where lower(address) = ${normalizeWalletAddress(address)}`.pipe(Effect.orDie)
      })
    })
  )
)
