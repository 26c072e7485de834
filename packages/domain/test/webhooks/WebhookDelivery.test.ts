import { assert, describe, it } from "@effect/vitest"
import { decideDelivery, findRetryPause, maximumFailingTime, retryPauses } from "@berth/domain/webhooks/WebhookDelivery"
import { parseWebhookUrl } from "@berth/domain/webhooks/WebhookEndpoint"
import { DateTime, Duration, Either, FastCheck } from "effect"

const now = DateTime.unsafeMake("2026-03-01T12:00:00Z")
const fresh = { attempt: 1, failingSince: null, now, random: 0 }

describe("Webhook deliveries", () => {
  it.prop(
    "The pause before a retry lies within a fifth above its table, whatever the random number",
    [FastCheck.integer({ min: 1, max: retryPauses.length }), FastCheck.double({ min: 0, max: 1, noNaN: true })],
    ([attempt, random]) => {
      const [pause, least] = [findRetryPause(attempt, random), retryPauses[attempt - 1]]
      if (pause === undefined || least === undefined) return false
      return Duration.between(pause, { minimum: least, maximum: Duration.times(least, 1.2) })
    }
  )

  it.prop(
    "A delivery that always fails ends after the tenth attempt, between three and four days after the first",
    [FastCheck.array(FastCheck.double({ min: 0, max: 1, noNaN: true }), { minLength: 10, maxLength: 10 })],
    ([randoms]) => {
      let at = now
      let attempts = 0
      for (const random of randoms) {
        attempts += 1
        const outcome = decideDelivery({ status: 500 }, { attempt: attempts, failingSince: null, now: at, random })
        if (outcome._tag === "Delivered" || outcome.disable !== null) return false
        if (outcome.retryAt === null) break
        at = outcome.retryAt
      }
      const days = DateTime.distance(now, at) / Duration.toMillis("1 day")
      return attempts === 10 && days > 3 && days < 4
    }
  )

  for (const status of [200, 201, 204, 299])
    it(`A response with status ${status} ends the delivery`, () =>
      assert.deepStrictEqual(decideDelivery({ status }, fresh), { _tag: "Delivered", status }))

  for (const status of [199, 302, 400, 401, 404, 429, 500, 503])
    it(`A response with status ${status} is retried after five seconds`, () =>
      assert.deepInclude(decideDelivery({ status }, fresh), {
        _tag: "Failed",
        status,
        failure: `status ${status}`,
        retryAt: DateTime.add(now, { seconds: 5 }),
        disable: null
      }))

  it("A response with status 410 disables the endpoint", () =>
    assert.deepInclude(decideDelivery({ status: 410 }, fresh), { retryAt: null, disable: "gone" }))

  it("A failure disables an endpoint that has failed for five days, and not before", () => {
    const failingFor = (time: Duration.DurationInput) =>
      decideDelivery({ failure: "timeout" }, { ...fresh, failingSince: DateTime.subtractDuration(now, time) })
    assert.deepInclude(failingFor(maximumFailingTime), { retryAt: null, disable: "failing" })
    assert.deepInclude(failingFor(Duration.subtract(maximumFailingTime, "1 millis")), { disable: null })
  })
})

describe("parseWebhookUrl", () => {
  for (const url of ["https://example.com/hook?a=b", "https://example.com:8443/"])
    it(`parseWebhookUrl accepts ${url}`, () => assert.isTrue(Either.isRight(parseWebhookUrl(url, { httpsOnly: true }))))

  for (const url of [
    "http://example.com/",
    "/hook",
    "",
    "ftp://example.com/",
    "javascript:alert(1)",
    "https://user@example.com/",
    "https://:password@example.com/",
    "https://example.com/#part",
    `https://example.com/${"a".repeat(2048)}`
  ])
    it(`parseWebhookUrl rejects ${url.slice(0, 40) || "an empty text"}`, () =>
      assert.isTrue(Either.isLeft(parseWebhookUrl(url, { httpsOnly: true }))))

  it("parseWebhookUrl accepts http where the service itself has no TLS", () =>
    assert.isTrue(Either.isRight(parseWebhookUrl("http://127.0.0.1:80/", { httpsOnly: false }))))
})
