import { Layer } from "effect"
import { LinkedAccounts } from "./identities/LinkedAccounts.ts"
import { LinkedIdentities } from "./identities/LinkedIdentities.ts"
import { OAuthSignIn } from "./oauth/OAuthSignIn.ts"
import { OAuthTickets } from "./oauth/OAuthTickets.ts"
import { PasswordSignIn } from "./password/PasswordSignIn.ts"
import { SocialSignIn } from "./social/SocialSignIn.ts"
import { WalletLinking } from "./wallets/WalletLinking.ts"
import { WalletNonces } from "./wallets/WalletNonces.ts"
import { WalletProofs } from "./wallets/WalletProofs.ts"
import { Wallets } from "./wallets/Wallets.ts"
import { WalletSignIn } from "./wallets/WalletSignIn.ts"

/** Linked wallets and identities; revoked by recovery. */
export const links = Layer.provideMerge(Wallets.Default, LinkedIdentities.Default)

export const layer = Layer.mergeAll(
  PasswordSignIn.Default,
  SocialSignIn.Default,
  WalletSignIn.Default,
  WalletLinking.Default,
  Layer.provide(OAuthSignIn.Default, Layer.merge(LinkedAccounts.Default, OAuthTickets.Default))
).pipe(Layer.provideMerge(Layer.provideMerge(WalletProofs.Default, WalletNonces.Default)))
