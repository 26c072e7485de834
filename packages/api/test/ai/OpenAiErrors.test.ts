import { makeOpenAiFailure, ParameterUnsupported, ParameterUnsupportedBody } from "@berth/api/ai/OpenAiErrors"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Schema } from "effect"
import { assertMatches } from "../../../../test/support/Matching.ts"

describe("an error in OpenAI's shape", () => {
  it.each<
    readonly [
      what: string,
      status: number,
      body: object,
      expected: readonly [number, string, string | null, string | null]
    ]
  >([
    ["a wrong key", 401, { code: "internal_key_required" }, [401, "invalid_request_error", "invalid_api_key", null]],
    ["an unknown model", 404, { code: "model_not_found" }, [404, "invalid_request_error", "model_not_found", "model"]],
    [
      "a wrong field",
      400,
      { code: "invalid_request", issues: [{ path: "messages.0.content" }, { path: "n" }] },
      [400, "invalid_request_error", "invalid_request", "messages.0.content"]
    ],
    [
      "a wrong body",
      400,
      { code: "invalid_request", issues: [{ path: "" }] },
      [400, "invalid_request_error", "invalid_request", null]
    ],
    [
      "what is not done here",
      400,
      { code: "parameter_unsupported", message: "n: only one" },
      [400, "invalid_request_error", "unsupported_parameter", "n"]
    ],
    ["a failure of ours", 500, { code: "internal" }, [500, "server_error", "internal", null]],
    ["an outage", 503, { code: "service_unavailable" }, [503, "server_error", "service_unavailable", null]],
    [
      "a refusal",
      500,
      { code: "provider_failed", kind: "refused" },
      [400, "invalid_request_error", "provider_refused", null]
    ],
    [
      "a rate limit",
      500,
      { code: "provider_failed", kind: "rate-limited" },
      [429, "rate_limit_error", "rate_limit_exceeded", null]
    ],
    [
      "the platform's key",
      500,
      { code: "provider_failed", kind: "unauthorized" },
      [502, "server_error", "provider_unauthorized", null]
    ],
    [
      "a silent provider",
      500,
      { code: "provider_failed", kind: "timeout" },
      [504, "server_error", "provider_timeout", null]
    ],
    [
      "a busy provider",
      500,
      { code: "provider_failed", kind: "overloaded" },
      [503, "server_error", "provider_overloaded", null]
    ],
    [
      "an absent provider",
      500,
      { code: "provider_failed", kind: "unreachable" },
      [502, "server_error", "provider_unreachable", null]
    ],
    [
      "a strange provider",
      500,
      { code: "provider_failed", kind: "nonsense" },
      [502, "server_error", "provider_unintelligible", null]
    ],
    [
      "a refusal of a gateway call",
      500,
      { code: "plugin_failed", kind: "refused" },
      [400, "invalid_request_error", "provider_refused", null]
    ],
    ["a plugin's own failure", 500, { code: "plugin_failed" }, [500, "server_error", "plugin_failed", null]],
    ["nothing that is known", 418, { teapot: true }, [418, "invalid_request_error", null, null]]
  ])("is told of %s", (_, status, body, [ownStatus, type, code, param]) => {
    const failure = makeOpenAiFailure(status, { error: "Oh", message: "Oh dear", traceId: "t", ...body })
    assertMatches(failure, {
      status: ownStatus,
      body: {
        error: { message: "message" in body ? body.message : "Oh dear", type, code, param },
        traceId: "t"
      }
    })
    assert.hasAllKeys(failure.body, ["error", "traceId"])
  })

  it.prop(
    "An error has OpenAI's shape whatever the body is",
    [FastCheck.integer({ min: 400, max: 599 }), FastCheck.anything()],
    ([status, body]) => {
      const failure = makeOpenAiFailure(status, body)
      assert.isAtLeast(failure.status, 400)
      assert.notStrictEqual(failure.body.error.message, undefined)
    }
  )
})

describe("a parameter that is not supported", () => {
  it.prop(
    "The error of an unsupported parameter is unchanged after encoding and decoding",
    [FastCheck.stringMatching(/^[a-z_]{1,20}$/), FastCheck.string()],
    ([parameter, reason]) => {
      const failure = new ParameterUnsupported({ parameter, reason })
      const read = Schema.decodeSync(ParameterUnsupportedBody)(Schema.encodeSync(ParameterUnsupportedBody)(failure))
      assert.deepStrictEqual([read.parameter, read.reason], [parameter, reason])
    }
  )
})
