import { generateTreasuryKey, deriveTreasuryAddress } from "@berth/infra/tempo/TreasuryKey"
import { assert, describe, it } from "@effect/vitest"
import { Either, Redacted } from "effect"

describe("deriveTreasuryAddress", () => {
  it("deriveTreasuryAddress returns the address of the key", () => {
    const key = Redacted.make("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
    assert.deepStrictEqual(
      Either.map(deriveTreasuryAddress(key), String),
      Either.right("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
    )
    assert.isTrue(Either.isRight(deriveTreasuryAddress(generateTreasuryKey())))
  })

  it("deriveTreasuryAddress fails for a malformed key without quoting it", () => {
    for (const text of ["", "0x", "hunter2", `0x${"00".repeat(32)}`, `0x${"ff".repeat(32)}`, `0x${"11".repeat(31)}`]) {
      const address = deriveTreasuryAddress(Redacted.make(text))
      assert.isTrue(Either.isLeft(address), text)
      assert.notInclude(JSON.stringify(Either.merge(address)), "hunter2")
    }
  })
})
