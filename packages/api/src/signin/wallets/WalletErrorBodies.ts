import {
  WalletLimitReached,
  LastAccessMethodRequired,
  WalletAlreadyLinked,
  WalletEmailInUse,
  WalletNotFound
} from "@berth/domain/signin/wallets/WalletErrors"
import { ChainUnreachable } from "@berth/domain/chain/ChainErrors"
import { WalletProofRejected } from "@berth/domain/signin/wallets/WalletProofs"
import { WalletSignInRejected } from "@berth/domain/signin/wallets/WalletSignIn"
import { maximumWalletsPerUser } from "@berth/domain/signin/wallets/Wallet"
import { errorBody } from "../../http/ErrorBody.ts"

export const WalletSignInRejectedBody = errorBody(WalletSignInRejected, {
  status: 401,
  code: "wallet_sign_in_refused",
  error: "Wallet sign-in refused",
  message:
    "The message or its signature is missing, not for this service, too old, used before, or not by this wallet.",
  read: () => new WalletSignInRejected()
})
export const ChainUnreachableBody = errorBody(ChainUnreachable, {
  status: 503,
  code: "chain_unreachable",
  error: "Chain unreachable",
  message: "The signature could not be checked, because the chain does not answer. Try again in a moment.",
  read: () => new ChainUnreachable({ reason: "it is for the service to know" })
})
/** For somebody who is signed in: 401 would tell him to sign in first. */
export const WalletProofRejectedBody = errorBody(WalletProofRejected, {
  status: 400,
  code: "wallet_proof_refused",
  error: "Wallet proof refused",
  message: "The message or its signature is not for this service, too old, used before, or not by this wallet.",
  read: () => new WalletProofRejected({ reason: "malformed message" })
})
export const WalletAlreadyLinkedBody = errorBody(WalletAlreadyLinked, {
  status: 409,
  code: "wallet_taken",
  error: "Wallet already in use",
  message: "This wallet signs another account in.",
  read: () => new WalletAlreadyLinked()
})
export const WalletNotFoundBody = errorBody(WalletNotFound, {
  status: 404,
  code: "wallet_not_found",
  error: "Wallet not found",
  message: "There is no such wallet among yours.",
  read: () => new WalletNotFound()
})
export const LastAccessMethodRequiredBody = errorBody(LastAccessMethodRequired, {
  status: 409,
  code: "last_way_in",
  error: "Last way in",
  message: "Without this wallet you could not sign in any more. Add another way first.",
  read: () => new LastAccessMethodRequired()
})
export const WalletEmailInUseBody = errorBody(WalletEmailInUse, {
  status: 409,
  code: "wallet_is_email",
  error: "Wallet is the account's e-mail",
  message: "Your e-mail address is this wallet's, which would link it again. Change your e-mail address first.",
  read: () => new WalletEmailInUse()
})
export const WalletLimitReachedBody = errorBody(WalletLimitReached, {
  status: 409,
  code: "wallet_limit_reached",
  error: "Too many wallets",
  message: `An account has at most ${maximumWalletsPerUser} wallets.`,
  read: () => new WalletLimitReached()
})
