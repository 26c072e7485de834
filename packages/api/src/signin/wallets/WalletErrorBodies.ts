import {
  WalletLimitReached,
  LastAccessMethodRequired,
  WalletAlreadyLinked,
  WalletEmailInUse,
  WalletNotFound
} from "@berth/domain/signin/wallets/WalletErrors"
import { ChainUnreachable } from "@berth/domain/chain/Chain"
import { WalletProofRejected } from "@berth/domain/signin/wallets/WalletProofs"
import { WalletSignInRejected } from "@berth/domain/signin/wallets/WalletSignIn"
import { maximumWalletsPerUser } from "@berth/domain/signin/wallets/Wallet"
import { errorBody, plainErrorBody } from "../../http/ErrorBody.ts"

export const WalletSignInRejectedBody = plainErrorBody(WalletSignInRejected, {
  status: 401,
  error: "Wallet sign-in refused",
  message: "The message or its signature is missing, for another service, expired, used before, or from another wallet."
})
export const ChainUnreachableBody = errorBody(ChainUnreachable, {
  status: 503,
  error: "Chain unreachable",
  message: "The signature could not be verified because the chain is unreachable. Try again in a moment.",
  read: () => new ChainUnreachable({ reason: "withheld" })
})
/** 400, since a 401 requires a sign-in, which this user has. */
export const WalletProofRejectedBody = errorBody(WalletProofRejected, {
  status: 400,
  error: "Wallet proof refused",
  message: "The message or its signature is for another service, expired, used before, or from another wallet.",
  read: () => new WalletProofRejected({ reason: "malformed message" })
})
export const WalletAlreadyLinkedBody = plainErrorBody(WalletAlreadyLinked, {
  status: 409,
  error: "Wallet already in use",
  message: "This wallet is linked to another account."
})
export const WalletNotFoundBody = plainErrorBody(WalletNotFound, {
  status: 404,
  error: "Wallet not found",
  message: "No wallet of yours has this address."
})
export const LastAccessMethodRequiredBody = plainErrorBody(LastAccessMethodRequired, {
  status: 409,
  error: "Last way in",
  message: "This wallet is the only way to sign in. Add another one first."
})
export const WalletEmailInUseBody = plainErrorBody(WalletEmailInUse, {
  status: 409,
  error: "Wallet is the account's email",
  message: "Your email address is derived from this wallet. Change your email address first."
})
export const WalletLimitReachedBody = plainErrorBody(WalletLimitReached, {
  status: 409,
  error: "Too many wallets",
  message: `An account has at most ${maximumWalletsPerUser} wallets.`
})
