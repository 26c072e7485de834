import { decideSpend, noSpending, type SpendLimits } from "@berth/domain/wallets/payments/SpendLimits"
import { formatUsdc, parseUsdc } from "@berth/domain/wallets/payments/UsdcAmount"
import { canChange, WalletPaymentStatus } from "@berth/domain/wallets/payments/WalletPayment"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

const amount = FastCheck.bigInt(1n, 100n)
const limit = FastCheck.bigInt(0n, 300n)
const limits: FastCheck.Arbitrary<SpendLimits> = FastCheck.record({
  perCall: limit,
  perDay: limit,
  perAgent: limit,
  confirmAbove: limit
})

describe("decideSpend", () => {
  it.prop(
    "decideSpend allows nothing until the owner sets limits",
    [amount, FastCheck.boolean()],
    ([wanted, approved]) => {
      assert.strictEqual(decideSpend(noSpending, { today: 0n, total: 0n }, wanted, approved)._tag, "Refused")
    }
  )

  it.prop(
    "decideSpend keeps every sequence of payments over days, approved or not, within all limits",
    [limits, FastCheck.array(FastCheck.tuple(amount, FastCheck.boolean(), FastCheck.boolean()), { maxLength: 40 })],
    ([of, wanted]) => {
      let [today, total] = [0n, 0n]
      for (const [payment, isApproved, isNextDay] of wanted) {
        if (isNextDay) today = 0n
        const decision = decideSpend(of, { today, total }, payment, isApproved)
        if (decision._tag === "Allowed") {
          assert.isTrue(payment <= of.perCall && (isApproved || payment <= of.confirmAbove))
          today += payment
          total += payment
        }
        assert.isTrue(today <= of.perDay && total <= of.perAgent)
      }
    }
  )

  it.prop(
    "decideSpend refuses with an approval whatever it refuses without",
    [limits, amount, limit],
    ([of, wanted, spent]) => {
      const amounts = { today: spent, total: spent }
      const [without, approved] = [decideSpend(of, amounts, wanted, false), decideSpend(of, amounts, wanted, true)]
      assert.strictEqual(without._tag === "Refused", approved._tag === "Refused")
      assert.notStrictEqual(approved._tag, "ApprovalNeeded")
    }
  )
})

describe("parseUsdc", () => {
  it.prop("parseUsdc reads every amount that formatUsdc writes", [FastCheck.bigInt(1n, 10n ** 14n)], ([micros]) => {
    assert.deepStrictEqual(parseUsdc(formatUsdc(micros)), Option.some(micros))
  })

  it("parseUsdc rejects zero, signs, exponents, seven decimals and other text", () => {
    for (const text of [
      "0",
      "0.000000",
      "-1",
      "+1",
      "1e3",
      "0x1",
      "1.0000001",
      "",
      ".5",
      "1.",
      "01",
      "1,5",
      "ten",
      "1 USDC"
    ])
      assert.isTrue(Option.isNone(parseUsdc(text)), text)
  })
})

describe("The states of a wallet payment", () => {
  it("A wallet payment leaves sent by the chain's decision only, and final states never", () => {
    const changes = (from: WalletPaymentStatus) => WalletPaymentStatus.literals.filter((to) => canChange(from, to))
    assert.deepStrictEqual(changes("sent"), ["confirmed", "failed"])
    for (const final of ["refused", "confirmed", "failed"] as const) assert.deepStrictEqual(changes(final), [])
  })
})
