import { choosePaymentMethod } from "@berth/domain/gateway/calls/PaymentMethod"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const names = [
  ["mpp", "mpp"],
  ["card", "card"],
  ["cardProcessor", "card"],
  ["stripe", "card"]
] as const

const chosen = (asked: string | undefined, authorization: string | undefined) =>
  Either.getOrElse(choosePaymentMethod({ asked, authorization }), () => "refused" as const)

const inAnyCase = (text: string) =>
  FastCheck.mixedCase(FastCheck.constant(text)).chain((mixed) =>
    FastCheck.constantFrom(mixed, ` ${mixed}`, `${mixed} `)
  )
const anything = FastCheck.oneof(FastCheck.constant(undefined), FastCheck.string())
const credential = FastCheck.tuple(
  inAnyCase("Payment"),
  FastCheck.constantFrom(" ", "  ", "\t"),
  FastCheck.string()
).map((parts) => parts.join(""))

describe("How a call is paid", () => {
  it.prop(
    "is what the header says, whatever Authorization is",
    [
      FastCheck.constantFrom(...names).chain(([name, method]) => inAnyCase(name).map((asked) => ({ asked, method }))),
      FastCheck.oneof(anything, credential)
    ],
    ([{ asked, method }, authorization]) => chosen(asked, authorization) === method
  )

  it.prop(
    "is refused when the header says something else",
    [FastCheck.string(), FastCheck.oneof(anything, credential)],
    ([asked, authorization]) => {
      const isKnown = names.some(([name]) => name.toLowerCase() === asked.trim().toLowerCase())
      return isKnown || chosen(asked, authorization) === "refused"
    }
  )

  it.prop(
    "is by a machine when it shows a payment",
    [credential],
    ([authorization]) => chosen(undefined, authorization) === "mpp"
  )

  it("is by card for everything else", () => {
    for (const authorization of [undefined, "", "Bearer Payment", "Paymentx y", "x Payment y", '{"scheme":"Payment"}'])
      assert.strictEqual(chosen(undefined, authorization), "card", authorization)
    assert.strictEqual(chosen(undefined, "payment"), "mpp")
  })
})
