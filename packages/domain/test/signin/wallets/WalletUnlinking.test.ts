import { Email } from "@berth/domain/shared/Email"
import { validateWalletUnlinking, type WalletUnlinkingInput } from "@berth/domain/signin/wallets/WalletUnlinking"
import { LastAccessMethodRequired, WalletEmailInUse, WalletNotFound } from "@berth/domain/signin/wallets/WalletErrors"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Either } from "effect"
import { UserId } from "@berth/domain/shared/UserId"

const [one, other] = [WalletAddress.make(`0x${"Ab".repeat(20)}`), WalletAddress.make(`0x${"Cd".repeat(20)}`)]
const wallet = (address: WalletAddress) => ({
  address,
  userId: UserId.make("usr_1"),
  linkedAt: DateTime.unsafeMake(0)
})
const ownEmail = Email.make("ada@example.com")
const derived = Email.make(`0x${"ab".repeat(20)}@wallet.localhost`)

const facts: WalletUnlinkingInput = {
  address: one,
  wallets: [wallet(one), wallet(other)],
  email: ownEmail,
  hasOtherAccessMethod: false,
  walletEmailDomain: "wallet.localhost"
}

const rows: ReadonlyArray<
  readonly [string, Partial<WalletUnlinkingInput>, ReturnType<typeof validateWalletUnlinking>]
> = [
  ["one of two goes", {}, Either.void],
  ["in any case", { address: WalletAddress.make(one.toLowerCase()) }, Either.void],
  ["the only one goes when there is a password", { wallets: [wallet(one)], hasOtherAccessMethod: true }, Either.void],
  ["the only way in stays", { wallets: [wallet(one)] }, Either.left(new LastAccessMethodRequired())],
  ["another's is not there", { wallets: [wallet(other)] }, Either.left(new WalletNotFound())],
  ["of none there is nothing to take", { wallets: [], hasOtherAccessMethod: true }, Either.left(new WalletNotFound())],
  ["the one that is the e-mail stays", { email: derived }, Either.left(new WalletEmailInUse())],
  [
    "in any case",
    { email: Email.make(derived.toUpperCase()), hasOtherAccessMethod: true, wallets: [wallet(one)] },
    Either.left(new WalletEmailInUse())
  ],
  ["another than the one that is the e-mail goes", { address: other, email: derived }, Either.void]
]

describe("validateWalletUnlinking", () => {
  for (const [what, changes, verdict] of rows)
    it(what, () => assert.deepStrictEqual(validateWalletUnlinking({ ...facts, ...changes }), verdict))
})
