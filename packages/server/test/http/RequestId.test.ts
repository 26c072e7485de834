import { acceptRequestId } from "@berth/server/http/RequestId"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

describe("acceptRequestId", () => {
  it.prop("acceptRequestId accepts ids that are safe in headers and logs", [FastCheck.string()], ([text]) => {
    const accepted = acceptRequestId(text)
    assert.isTrue(accepted === undefined || accepted === text)
    if (accepted !== undefined) assert.match(accepted, /^[A-Za-z0-9._:-]{1,128}$/)
  })

  it("acceptRequestId accepts common formats of ids", () => {
    for (const id of ["a", "018f2d5e-7c3b-7a1e-9f00-000000000000", "Root=1:67.89_x", "x".repeat(128)])
      assert.strictEqual(acceptRequestId(id), id.includes("=") ? undefined : id)
    for (const id of [undefined, "", "x".repeat(129), "a\r\nb: c"]) assert.isUndefined(acceptRequestId(id))
  })
})
