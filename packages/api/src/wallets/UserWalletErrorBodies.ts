import { DeveloperWalletFailed, DeveloperWalletsNotConfigured } from "@berth/domain/wallets/DeveloperWallets"
import {
  PrivateKeyInvalid,
  SeedExportDisabled,
  UserWalletExists,
  UserWalletNotFound
} from "@berth/domain/wallets/UserWallet"
import { Schema } from "effect"
import { extendedErrorBody, plainErrorBody } from "../http/ErrorBody.ts"

export const UserWalletExistsBody = plainErrorBody(UserWalletExists, {
  status: 400,
  error: "Wallet already exists",
  message: "You have a wallet already; each account has one. GET /api/wallet returns it."
})
export const UserWalletNotFoundBody = plainErrorBody(UserWalletNotFound, {
  status: 404,
  error: "No wallet",
  message: "You have no wallet. Create one by POST /api/wallet with `action: create`."
})
export const SeedExportDisabledBody = plainErrorBody(SeedExportDisabled, {
  status: 403,
  error: "Export disabled",
  message: "Private keys and seeds of wallets are never exported."
})
export const PrivateKeyInvalidBody = plainErrorBody(PrivateKeyInvalid, {
  status: 400,
  error: "Invalid private key",
  message: "privateKey: must be 0x and 64 hex digits, a key of secp256k1."
})

const setup = "Set `CDP_PROJECT_ID`, `CDP_API_KEY_ID`, `CDP_API_KEY_SECRET` and `CDP_WALLET_SECRET`."
export const DeveloperWalletsNotConfiguredBody = extendedErrorBody(
  DeveloperWalletsNotConfigured,
  Schema.Struct({ setup: Schema.String }),
  {
    status: 500,
    error: "CDP wallet is not configured",
    message: "The operator has not configured the developer platform.",
    members: () => ({ setup }),
    example: new DeveloperWalletsNotConfigured(),
    read: () => new DeveloperWalletsNotConfigured()
  }
)
export const DeveloperWalletFailedBody = extendedErrorBody(
  DeveloperWalletFailed,
  Schema.Struct({ details: Schema.String }),
  {
    status: 500,
    error: "Wallet not created",
    message: "The wallet could not be created. Repeat the request, with the same `Idempotency-Key` if it had one.",
    members: ({ reason }) => ({ details: reason }),
    example: new DeveloperWalletFailed({ reason: "the developer platform did not answer" }),
    read: (_, { details }) => new DeveloperWalletFailed({ reason: details })
  }
)
