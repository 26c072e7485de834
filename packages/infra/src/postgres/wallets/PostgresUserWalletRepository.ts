import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { UserId } from "@berth/domain/shared/UserId"
import {
  type UserWallet,
  UserWalletExists,
  UserWalletKind,
  WalletKeyUnavailable
} from "@berth/domain/wallets/UserWallet"
import { UserWalletRepository } from "@berth/domain/wallets/UserWalletRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Schema } from "effect"
import { decodeFirstRow, decodeSingleRow, execute, listColumns } from "../Rows.ts"
import * as Repository from "../Repository.ts"

const WalletRow = Schema.Struct({
  userId: UserId,
  kind: UserWalletKind,
  address: WalletAddress,
  balance: Schema.OptionFromNullOr(Schema.BigInt),
  createdAt: Schema.DateTimeUtcFromDate
})
const SealedRow = Schema.Struct({ keySealed: Schema.String })
const columns = listColumns("user_wallets", WalletRow)

/** Unique per row, so that a key moved to another row cannot be opened. */
const contextOf = ({ address, kind, userId }: Pick<UserWallet, "userId" | "kind" | "address">) =>
  `user_wallets.key_sealed:${userId}:${kind}:${address}`

export const layer = Repository.layerEffect(
  UserWalletRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const box = yield* SecretBox

    return UserWalletRepository.of({
      insert: (userId, kind, { address, isSupplied, privateKey }) =>
        Effect.gen(function* () {
          const createdAt = DateTime.toDate(yield* DateTime.now)
          const keySealed = yield* box.seal(privateKey, contextOf({ userId, kind, address }))
          const inserted = yield* sql`
            insert into user_wallets ${sql.insert({ userId, kind, address, keySealed, keyGiven: isSupplied, createdAt })}
            on conflict (user_id, kind) do nothing returning ${sql.literal(columns)}`.pipe(decodeFirstRow(WalletRow))
          return yield* Effect.mapError(inserted, () => new UserWalletExists())
        }),
      find: (userId, kind) =>
        sql`
          select ${sql.literal(columns)} from user_wallets where user_id = ${userId} and kind = ${kind}`.pipe(
          decodeFirstRow(WalletRow)
        ),
      openKey: (wallet) =>
        Effect.gen(function* () {
          const { keySealed } = yield* sql`
            select key_sealed from user_wallets where user_id = ${wallet.userId} and kind = ${wallet.kind}`.pipe(
            decodeSingleRow(SealedRow)
          )
          return yield* box.open(keySealed, contextOf(wallet)).pipe(
            Effect.tapError(({ reason }) =>
              Effect.logError("Wallet key does not open").pipe(Effect.annotateLogs({ userId: wallet.userId, reason }))
            ),
            Effect.mapError(() => new WalletKeyUnavailable())
          )
        }),
      recordBalance: (wallet, wei) =>
        execute(sql`
          update user_wallets set balance = ${String(wei)}
          where user_id = ${wallet.userId} and kind = ${wallet.kind}`),
      removeSuppliedSince: (userId, since) =>
        execute(sql`
          delete from user_wallets
          where user_id = ${userId} and key_given and created_at >= ${DateTime.toDate(since)}`)
    })
  })
)
