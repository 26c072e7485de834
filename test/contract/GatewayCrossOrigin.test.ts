import { gatewayPath } from "@berth/api/gateway/GatewayApi"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { machinePaymentHeaders, gatewayCall, helloRequest, payForCall, readUsedUnits } from "./GatewayPayments.ts"

const foreign = { origin: "https://shop.example" }

layer(App.shared, { excludeTestServices: true })("A page of another origin", (it) => {
  it.effect("A page of another origin gets the allowed headers of the gateway by a preflight", () =>
    Effect.gen(function* () {
      for (const path of [gatewayPath, `${gatewayPath}/`])
        for (const origin of [foreign, {}]) {
          const asks = { "access-control-request-method": "POST", "access-control-request-headers": "x-plugin-id" }
          const answer = yield* App.web({ method: "OPTIONS", path, headers: { ...origin, ...asks } })
          assert.strictEqual(answer.status, 204)
          assert.strictEqual(answer.text, "")
          assert.deepInclude(answer.headers, {
            "access-control-allow-origin": "*",
            "access-control-allow-methods": "POST, OPTIONS",
            "access-control-allow-headers": "Authorization, Content-Type, X-Plugin-Id, X-Payment-Method",
            "access-control-max-age": "86400"
          })
          assert.notProperty(answer.headers, "access-control-allow-credentials")
        }
    })
  )

  it.effect("A page of another origin may call the gateway and read the response", () =>
    Effect.gen(function* () {
      for (const headers of [foreign, { origin: "null" }]) {
        const { authorization } = yield* payForCall({ headers })
        const answers = [
          yield* gatewayCall({ headers: { ...headers, authorization } }),
          yield* gatewayCall({ headers: { ...headers, ...machinePaymentHeaders } }),
          yield* gatewayCall({ headers }),
          yield* gatewayCall({ headers, json: { plugin: "nobody" } }),
          yield* gatewayCall({ headers: { ...headers, "content-type": "text/plain" }, body: "x" })
        ]
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [200, 402, 401, 502, 401]
        )
        for (const answer of answers) {
          assert.strictEqual(answer.headers["access-control-allow-origin"], "*")
          const exposed = String(answer.headers["access-control-expose-headers"]).toLowerCase().split(", ")
          assert.includeMembers(exposed, ["www-authenticate", "payment-receipt", "x-plugin-id", "retry-after"])
        }
      }
    })
  )

  it.effect("A cross-origin call ignores the session and charges its user nothing", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const { authorization } = yield* payForCall()
      for (const headers of [
        foreign,
        { origin: "null" },
        { ...foreign, authorization },
        { ...foreign, ...machinePaymentHeaders }
      ]) {
        const answer = yield* gatewayCall({ as, headers })
        assertError(answer, { status: 403, code: "origin_not_allowed" })
        assert.notProperty(answer.headers, "access-control-allow-origin")
      }
      assert.strictEqual(yield* readUsedUnits(as), 0)
      assert.strictEqual((yield* gatewayCall({ headers: { authorization } })).status, 200)
    })
  )

  it.effect("A page of another origin may call no other route", () =>
    Effect.gen(function* () {
      const preflight = yield* App.web({ method: "OPTIONS", path: "/api/settings", headers: foreign })
      assert.strictEqual(preflight.status, 405)
      const sent = yield* App.web({ method: "POST", path: "/api/register", headers: foreign, json: helloRequest })
      assertError(sent, { status: 403, code: "origin_not_allowed" })
      const other = yield* App.web({ method: "PUT", path: gatewayPath, headers: foreign, json: helloRequest })
      assert.deepStrictEqual([other.status, other.headers["allow"]], [405, "POST, OPTIONS"])
      for (const answer of [preflight, sent, other]) assert.notProperty(answer.headers, "access-control-allow-origin")
    })
  )
})
