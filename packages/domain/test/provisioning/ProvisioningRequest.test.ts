import { parseProvisioningRequest, type ProvisioningRequest } from "@berth/domain/provisioning/ProvisioningRequest"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc, Option, Redacted } from "effect"

const fields = ["platformAToken", "platformBToken", "platformCBotToken"] as const
const secret = fc.option(
  fc.string().map((text) => Redacted.make(text)),
  { nil: undefined }
)
const request: fc.Arbitrary<ProvisioningRequest> = fc.record({
  platformAToken: secret,
  platformBToken: secret,
  platformCBotToken: secret,
  platformAUserId: fc.option(fc.string(), { nil: undefined }),
  apiKey: secret,
  aiProvider: fc.constantFrom(undefined, "openrouter", "anthropic", "openai", "google", "groq", "gemini"),
  plan: fc.constantFrom(undefined, "free", "pro", "enterprise")
})

describe("parseProvisioningRequest", () => {
  it("parseProvisioningRequest accepts only orders with tokens that fit into a header", () => {
    fc.assert(
      fc.property(request, (sample) => {
        const parsed = parseProvisioningRequest(sample)
        const tokens = fields.flatMap((field) => (sample[field] === undefined ? [] : [Redacted.value(sample[field])]))
        if (tokens.length === 0) {
          assert.isTrue(Either.isLeft(parsed) && parsed.left._tag === "ChannelTokenMissing")
          return
        }
        if (Either.isLeft(parsed)) {
          for (const token of tokens.filter((text) => text.trim().length > 8))
            assert.notInclude(JSON.stringify(parsed.left), token)
          return
        }
        assert.lengthOf(parsed.right.tokens, tokens.length)
        for (const { token } of parsed.right.tokens) assert.match(Redacted.value(token), /^[\x20-\x7e]{1,8192}$/)
        assert.strictEqual(Option.isSome(parsed.right.apiKey), sample.apiKey !== undefined)
        assert.strictEqual(parsed.right.plan, sample.plan ?? "free")
      })
    )
  })

  it("parseProvisioningRequest reads gemini as google and defaults to openrouter", () => {
    const provider = (aiProvider: ProvisioningRequest["aiProvider"]) =>
      Either.map(
        parseProvisioningRequest({ platformAToken: Redacted.make("t"), aiProvider, apiKey: Redacted.make("k") }),
        (order) => [order.provider, Option.getOrUndefined(Option.map(order.apiKey, ({ key }) => key))]
      )
    assert.deepStrictEqual(provider(undefined), Either.right(["openrouter", "openrouter"]))
    assert.deepStrictEqual(provider("gemini"), Either.right(["google", "google"]))
    assert.deepStrictEqual(provider("groq"), Either.right(["groq", "groq"]))
  })

  it("parseProvisioningRequest gives the code to the user of platform A only with a bot that can send it", () => {
    const claimant = (sample: ProvisioningRequest) =>
      Either.map(parseProvisioningRequest(sample), (order) => Option.getOrNull(order.claimant))
    const token = Redacted.make("t")
    assert.deepStrictEqual(claimant({ platformAToken: token, platformAUserId: " 4711 " }), Either.right("4711"))
    assert.deepStrictEqual(claimant({ platformBToken: token, platformAUserId: "4711" }), Either.right(null))
    assert.deepStrictEqual(claimant({ platformAToken: token }), Either.right(null))
    assert.isTrue(Either.isLeft(claimant({ platformAToken: token, platformAUserId: "4 7" })))
  })
})
