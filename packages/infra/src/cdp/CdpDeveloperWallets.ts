import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { DeveloperWalletFailed, DeveloperWallets } from "@berth/domain/wallets/DeveloperWallets"
import { Effect, Layer, Option } from "effect"
import { type CdpAccess, makeCdpClient } from "./CdpClient.ts"

export interface CdpSettings extends CdpAccess {
  readonly projectId: string
}

export const layer = ({ projectId, ...access }: CdpSettings) =>
  Layer.effect(
    DeveloperWallets,
    Effect.map(makeCdpClient(access), (cdp) =>
      Option.some({
        projectId,
        create: Effect.fn("DeveloperWallets.create")(({ idempotencyKey, name }) =>
          cdp.createAccount(name, idempotencyKey).pipe(
            // The name exists: an earlier call created the account, and its response was lost.
            Effect.catchIf(
              ({ status }) => status === 409,
              () => cdp.findAccount(name)
            ),
            Effect.map(({ address }) => WalletAddress.make(address)),
            Effect.tapError(({ reason }) =>
              Effect.logWarning("Developer wallet not created").pipe(Effect.annotateLogs({ reason }))
            ),
            Effect.mapError(
              ({ status }) =>
                new DeveloperWalletFailed({
                  reason:
                    status === null ? "the wallet provider did not answer" : `the wallet provider answered ${status}`
                })
            )
          )
        )
      })
    )
  )
