import { choosePaymentMethod } from "@berth/domain/gateway/calls/PaymentMethod"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const names = [
  ["mpp", "mpp"],
  ["card", "card"],
  ["cardProcessor", "card"],
  ["stripe", "card"]
] as const

const chosen = (
  named: string | undefined,
  authorization: string | undefined,
  acceptPayment?: string,
  hasSession = false
) =>
  Either.match(choosePaymentMethod({ named, authorization, acceptPayment, hasSession }), {
    onLeft: () => "unknown" as const,
    onRight: ({ method }) => method
  })

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

describe("choosePaymentMethod", () => {
  it.prop(
    "choosePaymentMethod returns the method that X-Payment-Method names, whatever Authorization is",
    [
      FastCheck.constantFrom(...names).chain(([name, method]) => inAnyCase(name).map((named) => ({ named, method }))),
      FastCheck.oneof(anything, credential)
    ],
    ([{ named, method }, authorization]) => chosen(named, authorization) === method
  )

  it.prop(
    "choosePaymentMethod fails for any other value of X-Payment-Method",
    [FastCheck.string(), FastCheck.oneof(anything, credential)],
    ([named, authorization]) => {
      const isKnown = names.some(([name]) => name.toLowerCase() === named.trim().toLowerCase())
      return isKnown || chosen(named, authorization) === "unknown"
    }
  )

  it.prop(
    "choosePaymentMethod returns mpp for a Payment credential without X-Payment-Method",
    [credential],
    ([authorization]) => chosen(undefined, authorization) === "mpp"
  )

  it("choosePaymentMethod returns card for everything else", () => {
    for (const authorization of [undefined, "", "Bearer Payment", "Paymentx y", "x Payment y", '{"scheme":"Payment"}'])
      assert.strictEqual(chosen(undefined, authorization), "card", authorization)
    assert.strictEqual(chosen(undefined, "payment"), "mpp")
  })

  it("choosePaymentMethod returns mpp for an Accept-Payment whose most specific range accepts tempo/charge", () => {
    for (const accepted of [
      "tempo/charge",
      "tempo/session, tempo/charge;q=0.5",
      "Tempo/Charge ; q=1.0",
      "tempo/*",
      "*/charge",
      "*/*",
      "*/*;q=0, tempo/charge",
      "stripe/*, */*;q=0.1"
    ])
      assert.strictEqual(chosen(undefined, undefined, accepted), "mpp", accepted)
    for (const other of [
      "",
      "tempo/session",
      "stripe/charge",
      "tempo/charge;q=0",
      "tempo/charge; q=0.000",
      "*/*, tempo/charge;q=0",
      "tempo/*;q=0, */charge",
      "stripe/*",
      "*/session",
      "*",
      "x tempo/charge"
    ])
      assert.strictEqual(chosen(undefined, undefined, other), "card", other)
  })

  it("choosePaymentMethod ignores Accept-Payment with a session, with X-Payment-Method and with a Payment credential", () => {
    assert.strictEqual(chosen(undefined, undefined, "tempo/charge", true), "card")
    assert.strictEqual(chosen("card", undefined, "tempo/charge"), "card")
    assert.strictEqual(chosen(undefined, "Payment abc", "stripe/charge"), "mpp")
  })
})
