import { Email } from "@berth/domain/accounts/Email"
import { judgeUnlinking, type UnlinkingFacts } from "@berth/domain/accounts/JudgeUnlinking"
import { UserId } from "@berth/domain/accounts/User"
import { WalletIsLastWayIn, WalletIsTheEmail, WalletIsUnknown } from "@berth/domain/accounts/WalletErrors"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Either } from "effect"

const [one, other] = [WalletAddress.make(`0x${"Ab".repeat(20)}`), WalletAddress.make(`0x${"Cd".repeat(20)}`)]
const wallet = (address: WalletAddress) => ({
  address,
  userId: UserId.make("usr_1"),
  linkedAt: DateTime.unsafeMake(0)
})
const ownEmail = Email.make("ada@example.com")
const derived = Email.make(`0x${"ab".repeat(20)}@wallet.localhost`)

const facts: UnlinkingFacts = {
  address: one,
  wallets: [wallet(one), wallet(other)],
  email: ownEmail,
  hasOtherWayIn: false,
  walletEmailDomain: "wallet.localhost"
}

const rows: ReadonlyArray<readonly [string, Partial<UnlinkingFacts>, ReturnType<typeof judgeUnlinking>]> = [
  ["one of two goes", {}, Either.void],
  ["in any case", { address: WalletAddress.make(one.toLowerCase()) }, Either.void],
  ["the only one goes when there is a password", { wallets: [wallet(one)], hasOtherWayIn: true }, Either.void],
  ["the only way in stays", { wallets: [wallet(one)] }, Either.left(new WalletIsLastWayIn())],
  ["another's is not there", { wallets: [wallet(other)] }, Either.left(new WalletIsUnknown())],
  ["of none there is nothing to take", { wallets: [], hasOtherWayIn: true }, Either.left(new WalletIsUnknown())],
  ["the one that is the e-mail stays", { email: derived }, Either.left(new WalletIsTheEmail())],
  [
    "in any case",
    { email: Email.make(derived.toUpperCase()), hasOtherWayIn: true, wallets: [wallet(one)] },
    Either.left(new WalletIsTheEmail())
  ],
  ["another than the one that is the e-mail goes", { address: other, email: derived }, Either.void]
]

describe("Of an account's wallets", () => {
  for (const [what, changes, verdict] of rows)
    it(what, () => assert.deepStrictEqual(judgeUnlinking({ ...facts, ...changes }), verdict))
})
