import { formatEther } from "@berth/domain/wallets/WalletNetwork"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

describe("formatEther", () => {
  it.prop(
    "formatEther returns the shortest decimal that is the amount",
    [FastCheck.bigInt(0n, 10n ** 30n)],
    ([wei]) => {
      const text = formatEther(wei)
      assert.match(text, /^(0|[1-9]\d*)(\.\d{0,17}[1-9])?$/)
      const [whole = "", fraction = ""] = text.split(".")
      assert.strictEqual(BigInt(whole + fraction.padEnd(18, "0")), wei)
    }
  )
})
