import { Wallet } from "@berth/domain/signin/wallets/Wallet"
import { WalletRepository } from "@berth/domain/signin/wallets/WalletRepository"
import { WalletAddress, normalizeWalletAddress } from "@berth/domain/chain/WalletAddress"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { decodeFirstRow, decodeRows, execute } from "../Rows.ts"
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
        yield* execute(
          sql`select pg_advisory_xact_lock(hashtextextended(${`berth.wallet ${normalizeWalletAddress(address)}`}, 0))`
        )
      }),
      lockOwner: Effect.fn("WalletRepository.lockOwner")(function* (userId: UserId) {
        // `no key update` does not block the foreign key of a new session.
        yield* execute(sql`select from users where id = ${toStorableText(userId)} for no key update`)
      }),
      find: Effect.fn("WalletRepository.find")(function* (address: WalletAddress) {
        const row = yield* sql`select * from wallets where lower(address) = ${normalizeWalletAddress(address)}`.pipe(
          decodeFirstRow(WalletRow)
        )
        return Option.map(row, toWallet)
      }),
      listByUser: Effect.fn("WalletRepository.listByUser")(function* (userId: UserId) {
        const rows = yield* sql`
          select * from wallets where user_id = ${toStorableText(userId)} order by linked_at, lower(address)`.pipe(
          decodeRows(WalletRow)
        )
        return rows.map(toWallet)
      }),
      insert: Effect.fn("WalletRepository.insert")(({ address, linkedAt, userId }: Wallet) =>
        execute(sql`insert into wallets ${sql.insert({ address, userId, linkedAt: DateTime.toDate(linkedAt) })}`)
      ),
      removeByUser: Effect.fn("WalletRepository.removeByUser")((userId: UserId, since: DateTime.Utc) =>
        execute(sql`
          delete from wallets
          where user_id = ${toStorableText(userId)} and linked_at >= ${DateTime.toDate(since)}`)
      ),
      remove: Effect.fn("WalletRepository.remove")((address: WalletAddress) =>
        execute(sql`delete from wallets where lower(address) = ${normalizeWalletAddress(address)}`)
      )
    })
  )
)
