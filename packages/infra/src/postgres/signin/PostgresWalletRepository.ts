import { Wallet } from "@berth/domain/signin/wallets/Wallet"
import { WalletRepository } from "@berth/domain/signin/wallets/WalletRepository"
import { WalletAddress, normalizeWalletAddress } from "@berth/domain/chain/WalletAddress"
import { DateTime, Schema } from "effect"
import { execute, mapFirstRow, mapRows } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { UserId } from "@berth/domain/shared/UserId"
import * as Repository from "../Repository.ts"

const WalletRow = Schema.Struct({
  address: WalletAddress,
  userId: UserId,
  linkedAt: Schema.DateTimeUtcFromDate
})
const toWallet = (row: typeof WalletRow.Type) => Wallet.make(row)

export const layer = Repository.layer(WalletRepository, (sql) => ({
  // Advisory lock: the row may not exist yet.
  lockAddress: (address) =>
    execute(
      sql`select pg_advisory_xact_lock(hashtextextended(${`berth.wallet ${normalizeWalletAddress(address)}`}, 0))`
    ),
  // `no key update` does not block the foreign key of a new session.
  lockOwner: (userId) => execute(sql`select from users where id = ${toStorableText(userId)} for no key update`),
  find: (address) =>
    sql`select * from wallets where lower(address) = ${normalizeWalletAddress(address)}`.pipe(
      mapFirstRow(WalletRow, toWallet)
    ),
  listByUser: (userId) =>
    sql`
      select * from wallets where user_id = ${toStorableText(userId)} order by linked_at, lower(address)`.pipe(
      mapRows(WalletRow, toWallet)
    ),
  insert: ({ address, linkedAt, userId }) =>
    execute(sql`insert into wallets ${sql.insert({ address, userId, linkedAt: DateTime.toDate(linkedAt) })}`),
  removeByUser: (userId, since) =>
    execute(sql`
      delete from wallets
      where user_id = ${toStorableText(userId)} and linked_at >= ${DateTime.toDate(since)}`),
  remove: (address) => execute(sql`delete from wallets where lower(address) = ${normalizeWalletAddress(address)}`)
}))
