import {
  TooManyWallets,
  WalletIsLastWayIn,
  WalletIsTaken,
  WalletIsTheEmail,
  WalletIsUnknown
} from "@berth/domain/accounts/WalletErrors"
import { ChainIsUnreachable } from "@berth/domain/chain/ChainErrors"
import { WalletProofIsRefused } from "@berth/domain/signin/WalletProofs"
import { WalletSignInIsRefused } from "@berth/domain/signin/WalletSignIn"
import { maximumWallets } from "@berth/domain/accounts/Wallet"
import { errorBody } from "../http/ErrorBody.ts"

export const WalletSignInIsRefusedBody = errorBody(WalletSignInIsRefused, {
  status: 401,
  code: "wallet_sign_in_refused",
  error: "Wallet sign-in refused",
  message:
    "The message or its signature is missing, not for this service, too old, used before, or not by this wallet.",
  read: () => new WalletSignInIsRefused()
})
export const ChainIsUnreachableBody = errorBody(ChainIsUnreachable, {
  status: 503,
  code: "chain_unreachable",
  error: "Chain unreachable",
  message: "The signature could not be checked, because the chain does not answer. Try again in a moment.",
  read: () => new ChainIsUnreachable({ reason: "it is for the service to know" })
})
/** For somebody who is signed in: 401 would tell him to sign in first. */
export const WalletProofIsRefusedBody = errorBody(WalletProofIsRefused, {
  status: 400,
  code: "wallet_proof_refused",
  error: "Wallet proof refused",
  message: "The message or its signature is not for this service, too old, used before, or not by this wallet.",
  read: () => new WalletProofIsRefused({ reason: "malformed message" })
})
export const WalletIsTakenBody = errorBody(WalletIsTaken, {
  status: 409,
  code: "wallet_taken",
  error: "Wallet already in use",
  message: "This wallet signs another account in.",
  read: () => new WalletIsTaken()
})
export const WalletIsUnknownBody = errorBody(WalletIsUnknown, {
  status: 404,
  code: "wallet_not_found",
  error: "Wallet not found",
  message: "There is no such wallet among yours.",
  read: () => new WalletIsUnknown()
})
export const WalletIsLastWayInBody = errorBody(WalletIsLastWayIn, {
  status: 409,
  code: "last_way_in",
  error: "Last way in",
  message: "Without this wallet you could not sign in any more. Add another way first.",
  read: () => new WalletIsLastWayIn()
})
export const WalletIsTheEmailBody = errorBody(WalletIsTheEmail, {
  status: 409,
  code: "wallet_is_email",
  error: "Wallet is the account's e-mail",
  message: "Your e-mail address is this wallet's, which would link it again. Change your e-mail address first.",
  read: () => new WalletIsTheEmail()
})
export const TooManyWalletsBody = errorBody(TooManyWallets, {
  status: 409,
  code: "too_many_wallets",
  error: "Too many wallets",
  message: `An account has at most ${maximumWallets} wallets.`,
  read: () => new TooManyWallets()
})
