import { assert, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { insertAgent, uniqueName } from "../support/Samples.ts"
import { eventually } from "../support/Eventually.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { callInTurn } from "./AgentTurns.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"
import { payInTurn } from "./WalletTurns.ts"

const window = Duration.minutes(30)
const limits = {
  register: { count: 2, window },
  "sign-in": { count: 4, window },
  "sign-in-account": { count: 2, window }
}

const password = "correct horse battery"

const assertRefused = (answer: HttpCallResponse, limit: keyof typeof limits) => {
  assertError(answer, { status: 429, code: "rate_limit_exceeded" })
  assert.strictEqual(answer.body["limit"], limit)
  const seconds = Number(answer.headers["retry-after"])
  assert.strictEqual(seconds, answer.body["retryAfter"])
  assert.isTrue(Number.isInteger(seconds) && seconds >= 1 && seconds <= Duration.toSeconds(window), String(seconds))
}

const register = (from: string, json: unknown = {}) => App.web({ method: "POST", path: "/api/register", json, from })

const signIn = (from: string, email: string, candidate: string) =>
  App.web({ method: "POST", path: "/api/auth/callback/credentials", json: { email, password: candidate }, from })

const account = Effect.gen(function* () {
  const email = `${yield* uniqueName("account")}@example.com`
  const answer = yield* App.web({ method: "POST", path: "/api/register", json: { email, password } })
  assert.strictEqual(answer.status, 200)
  return email
})

layer(App.layer({ limits }), { excludeTestServices: true })("Rate limits", (it) => {
  it.effect("Rate limits count registrations per address, whatever their outcome", () =>
    Effect.gen(function* () {
      const email = `${yield* uniqueName("first")}@example.com`
      assert.strictEqual((yield* register("192.0.2.1", { email, password })).status, 200)
      assert.strictEqual((yield* register("192.0.2.1", { email, password })).status, 409)
      assertRefused(yield* register("192.0.2.1", { email, password }), "register")
      assertRefused(yield* register("192.0.2.1"), "register")
      assert.strictEqual((yield* register("192.0.2.2")).status, 400)
    })
  )

  it.effect("Rate limits count wrong passwords within a session, and no correct ones", () =>
    Effect.gen(function* () {
      const email = `${yield* uniqueName("changer")}@example.com`
      assert.strictEqual((yield* register("192.0.2.9", { email, password })).status, 200)
      const signedIn = yield* signIn("192.0.2.9", email, password)
      const cookie = (signedIn.headers["set-cookie"] ?? []).map((set) => set.split(";")[0] ?? "").join("; ")
      const change = (currentPassword: string) =>
        App.web({
          method: "POST",
          path: "/api/settings/password",
          headers: { cookie },
          json: { currentPassword, newPassword: password }
        })
      for (const right of [password, password, password]) assert.strictEqual((yield* change(right)).status, 200)
      for (const wrong of ["wrong horse", "wrong mule"]) assert.strictEqual((yield* change(wrong)).status, 401)
      assertRefused(yield* change(password), "sign-in-account")
    })
  )

  it.effect("Rate limits of a stolen session lock neither the owner's sign-in nor the owner's other sessions", () =>
    Effect.gen(function* () {
      const email = yield* account
      const cookieOf = ({ headers }: HttpCallResponse) => (headers["set-cookie"] ?? [])[0]?.split(";")[0] ?? ""
      const [stolen, own] = [
        cookieOf(yield* signIn("192.0.2.11", email, password)),
        cookieOf(yield* signIn("192.0.2.12", email, password))
      ]
      const change = (cookie: string, from: string, currentPassword: string) =>
        App.web({
          method: "POST",
          path: "/api/settings/password",
          headers: { cookie },
          from,
          json: { currentPassword, newPassword: password }
        })
      const remove = (json: unknown) =>
        App.web({ method: "DELETE", path: "/api/settings", headers: { cookie: stolen }, from: "192.0.2.12", json })
      assert.strictEqual((yield* change(stolen, "192.0.2.12", "wrong horse")).status, 401)
      assert.strictEqual((yield* remove({ password: "wrong horse" })).status, 403)
      for (const guess of ["wrong mule", password]) assertRefused(yield* remove({ password: guess }), "sign-in-account")
      assert.strictEqual((yield* signIn("192.0.2.12", email, password)).status, 200)
      assert.strictEqual((yield* change(own, "192.0.2.12", password)).status, 200)
    })
  )

  it.effect("Rate limits count an IPv6 /64 as one address, and an IPv4 address as one in either notation", () =>
    Effect.gen(function* () {
      for (const from of ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2"])
        assert.strictEqual((yield* register(from)).status, 400)
      assertRefused(yield* register("2001:db8:0:1::3"), "register")
      assert.strictEqual((yield* register("2001:db8:0:2::1")).status, 400)
      for (const from of ["192.0.2.3", "::ffff:192.0.2.3"]) assert.strictEqual((yield* register(from)).status, 400)
      assertRefused(yield* register("192.0.2.3"), "register")
    })
  )

  it.effect("Rate limits ignore forged hops of X-Forwarded-For", () =>
    Effect.gen(function* () {
      for (const forged of ["203.0.113.1", "203.0.113.2"])
        assert.strictEqual((yield* register(`${forged}, 192.0.2.4`)).status, 400)
      assertRefused(yield* register("203.0.113.3, 192.0.2.4"), "register")
    })
  )

  it.effect("Rate limits are exact under concurrent requests", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.replicateEffect(register("192.0.2.5"), 12, { concurrency: "unbounded" })
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [400, 400, ...Array.from({ length: 10 }, () => 429)]
      )
    })
  )

  it.effect("Rate limits count failed sign-ins per address, over all accounts", () =>
    Effect.gen(function* () {
      for (let index = 0; index < limits["sign-in"].count; index++)
        assert.strictEqual((yield* signIn("192.0.2.6", `nobody-${index}@example.com`, "wrong")).status, 401)
      const email = yield* account
      assertRefused(yield* signIn("192.0.2.6", email, password), "sign-in")
      assert.strictEqual((yield* signIn("192.0.2.7", email, password)).status, 200)
    })
  )

  it.effect("Rate limits count no successful sign-ins", () =>
    Effect.gen(function* () {
      const email = yield* account
      for (let index = 0; index <= limits["sign-in"].count; index++)
        assert.strictEqual((yield* signIn("192.0.2.8", email, password)).status, 200)
      for (let index = 0; index < limits["sign-in-account"].count; index++)
        assert.strictEqual((yield* signIn("192.0.2.8", email, "wrong")).status, 401)
    })
  )

  it.effect("Rate limits lock no address after a burst of correct sign-ins, and bound a burst of wrong ones", () =>
    Effect.gen(function* () {
      const email = yield* account
      const burst = (candidate: string) =>
        Effect.replicateEffect(signIn("192.0.2.13", email, candidate), 5 * limits["sign-in"].count, {
          concurrency: "unbounded"
        })
      const [right, wrong] = [yield* burst(password), yield* burst("wrong")]
      assert.isNotEmpty(right.filter(({ status }) => status === 200))
      assert.lengthOf(
        wrong.filter(({ status }) => status === 401),
        limits["sign-in-account"].count
      )
      assert.strictEqual((yield* signIn("192.0.2.14", email, password)).status, 200)
    })
  )

  it.effect("Rate limits count failed sign-ins per account and address, so that a third party locks no account", () =>
    Effect.gen(function* () {
      const email = yield* account
      const other = yield* account
      for (const spelling of [email, ` ${email.toUpperCase()} `])
        assert.strictEqual((yield* signIn("192.0.2.9", spelling, "wrong")).status, 401)
      assertRefused(yield* signIn("192.0.2.9", email, password), "sign-in-account")
      assert.strictEqual((yield* signIn("192.0.2.9", other, password)).status, 200)
      assert.strictEqual((yield* signIn("192.0.2.10", email, password)).status, 200)
    })
  )
})

layer(App.layer({ limits: { "sign-in-success": { count: 2, window } } }), { excludeTestServices: true })(
  "The limit of successful sign-ins",
  (it) => {
    it.effect("The limit of failed sign-ins counts per account and address", () =>
      Effect.gen(function* () {
        const email = yield* account
        const other = yield* account
        for (let index = 0; index < 2; index++)
          assert.strictEqual((yield* signIn("192.0.2.20", email, password)).status, 200)
        const refused = yield* signIn("192.0.2.20", email, password)
        assertError(refused, { status: 429, code: "rate_limit_exceeded" })
        assert.strictEqual(refused.body["limit"], "sign-in-success")
        assert.strictEqual(Number(refused.headers["retry-after"]), refused.body["retryAfter"])
        assert.isUndefined(refused.headers["set-cookie"])
        assert.strictEqual((yield* signIn("192.0.2.20", other, password)).status, 200)
        assert.strictEqual((yield* signIn("192.0.2.21", email, password)).status, 200)
      })
    )
  }
)

layer(App.layer({ limits: { "token-gating": { count: 2, window } } }), { excludeTestServices: true })(
  "The limit of token gating",
  (it) => {
    it.effect("The limit of mailed links counts both routes per address", () =>
      Effect.gen(function* () {
        const path = "/api/auth/token-gating/verify"
        const lookUp = (from: string) => App.web({ method: "GET", path: `${path}?address=0x${"0".repeat(40)}`, from })
        assert.strictEqual((yield* App.web({ method: "POST", path, json: {}, from: "192.0.2.30" })).status, 400)
        assert.strictEqual((yield* lookUp("192.0.2.30")).status, 500)
        const refused = yield* lookUp("192.0.2.30")
        assertError(refused, { status: 429, code: "rate_limit_exceeded" })
        assert.strictEqual(refused.body["limit"], "token-gating")
        assert.strictEqual(Number(refused.headers["retry-after"]), refused.body["retryAfter"])
        assert.strictEqual((yield* lookUp("192.0.2.31")).status, 500)
      })
    )
  }
)

const ownerLimits = {
  gateway: { count: 2, window },
  lifecycle: { count: 2, window },
  logs: { count: 2, window },
  search: { count: 2, window },
  wallet: { count: 2, window },
  "runtime-wallet": { count: 2, window },
  "runtime-a2a": { count: 2, window },
  verification: { count: 3, window },
  "verification-agent": { count: 2, window }
}

layer(App.layer({ limits: ownerLimits }), { excludeTestServices: true })("The limits of an owner", (it) => {
  it.effect("The limits of an owner count lifecycle operations per owner, and no reads", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const other = yield* createOwnerWithAgent()
      const call = (as: App.SignedIn, method: "GET" | "POST", action: string) =>
        App.web({ method, path: `/api/instance/${as.user.id}${action}`, as })
      assert.strictEqual((yield* call(other, "POST", "/reset-memory")).status, 200)
      for (let index = 0; index < 2; index++)
        assert.strictEqual((yield* call(owner, "POST", "/reset-memory")).status, 200)
      const refused = yield* call(owner, "POST", "/reset-memory")
      assertError(refused, { status: 429, code: "rate_limit_exceeded" })
      assert.deepInclude(refused.body, { limit: "lifecycle", success: false, status: "error" })
      assert.strictEqual(Number(refused.headers["retry-after"]), refused.body["retryAfter"])
      assert.strictEqual((yield* call(owner, "GET", "")).status, 200)
      assert.strictEqual((yield* call(other, "POST", "/reset-memory")).status, 200)
    })
  )

  it.effect("The limit of lifecycle operations counts those on foreign instances, and anonymous ones per address", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const path = `/api/instance/${other.user.id}/reset-memory`
      const foreign = App.web({ method: "POST", path, as: owner })
      const anonymous = (from: string) => App.web({ method: "POST", path, from })
      for (const status of [403, 403, 429]) assert.strictEqual((yield* foreign).status, status)
      for (const status of [401, 401, 429]) assert.strictEqual((yield* anonymous("192.0.2.40")).status, status)
      assert.strictEqual((yield* anonymous("192.0.2.41")).status, 401)
      assert.strictEqual((yield* App.web({ method: "POST", path, as: other })).status, 200)
    })
  )

  it.effect("The limits of an owner count calls of stored responses before these are read", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const json = { model: "openai/gpt-4", input: "Hello", previous_response_id: "resp_none" }
      const create = App.web({ method: "POST", path: "/v1/responses", as: owner, json })
      assert.strictEqual((yield* create).status, 404)
      // Gateway calls are counted shortly after their admission.
      yield* eventually(create, ({ status }) => status === 429)
    })
  )

  it.effect("The limits of an owner count messages of MCP clients, each of a batch", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const headers = { accept: "application/json, text/event-stream" }
      const json = { jsonrpc: "2.0", id: 1, method: "tools/list" }
      const canceled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }
      const sendAs = (as: App.SignedIn, message: unknown) =>
        App.web({ method: "POST", path: "/mcp", as, headers, json: message })
      const send = (message: unknown) => sendAs(owner, message)
      assert.strictEqual((yield* sendAs(other, [json, json, json])).status, 429)
      assert.strictEqual((yield* send([json, canceled])).status, 202)
      const refused = yield* eventually(send(json), ({ status }) => status === 429)
      assertError(refused, { status: 429, code: "rate_limit_exceeded" })
      assert.isDefined(refused.headers["retry-after"])
    })
  )

  it.effect("The limits of an owner count log reads per owner", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const logs = App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/logs`, as: owner })
      for (let index = 0; index < 2; index++) assert.notStrictEqual((yield* logs).status, 429)
      const refused = yield* logs
      assertError(refused, { status: 429, code: "rate_limit_exceeded" })
      assert.strictEqual(refused.body["limit"], "logs")
    })
  )

  it.effect("The limits of an owner count searches of memory, and no lists of notes", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const read = (path: string) =>
        App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/memory/${path}`, as: owner })
      for (let index = 0; index < 2; index++) assert.strictEqual((yield* read("search?query=cat")).status, 200)
      const refused = yield* read("search?query=cat")
      assertError(refused, { status: 429, code: "rate_limit_exceeded" })
      assert.strictEqual(refused.body["limit"], "search")
      assert.strictEqual(Number(refused.headers["retry-after"]), refused.body["retryAfter"])
      assert.strictEqual((yield* read("notes")).status, 200)
    })
  )

  it.effect("The limits of an owner count searches of conversations, and no lists of them", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const list = (as: App.SignedIn, search: string) =>
        App.web({ method: "GET", path: `/api/agent?action=sessions${search}`, as })
      for (let index = 0; index < 2; index++) assert.strictEqual((yield* list(owner, "&search=cat")).status, 200)
      const refused = yield* list(owner, "&search=cat")
      assertError(refused, { status: 429, code: "rate_limit_exceeded" })
      assert.strictEqual(refused.body["limit"], "search")
      assert.strictEqual(Number(refused.headers["retry-after"]), refused.body["retryAfter"])
      for (const search of ["", "&search=", "&search=%20"]) assert.strictEqual((yield* list(owner, search)).status, 200)
      assert.strictEqual((yield* list(other, "&search=cat")).status, 200)
    })
  )

  it.effect("The limits of an owner count proofs of verification per agent and per owner", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { id: second } = yield* insertAgent(owner.user.id)
      const prove = (agentId: string) =>
        Effect.map(
          App.web({
            method: "POST",
            path: `/api/agents/${agentId}/verify`,
            as: owner,
            json: { verificationType: "coinbase", signature: "0x00" }
          }),
          ({ body, headers, status }) => [status, body["limit"], headers["retry-after"] !== undefined]
        )
      const register = App.web({
        method: "POST",
        path: `/api/agents/${owner.agent.id}/verify/webauthn`,
        as: owner,
        json: { credential: "e30" }
      })
      assert.deepStrictEqual(yield* prove(owner.agent.id), [400, undefined, false])
      assert.strictEqual((yield* register).status, 400)
      assert.deepStrictEqual(yield* prove(owner.agent.id), [429, "verification-agent", true])
      assert.strictEqual((yield* register).body["limit"], "verification-agent")
      assert.deepStrictEqual(yield* prove(second), [400, undefined, false])
      assert.deepStrictEqual(yield* prove(second), [429, "verification", true])
    })
  )

  it.effect("The limits of an owner count reads of the chain for the owner and for agents", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const read = App.web({ method: "GET", path: "/api/wallet", as: owner })
      for (let index = 0; index < 2; index++) assert.strictEqual((yield* read).status, 200)
      const refused = yield* read
      assertError(refused, { status: 429, code: "rate_limit_exceeded" })
      assert.deepStrictEqual([refused.body["limit"], refused.headers["retry-after"] !== undefined], ["wallet", true])
      const balance = { action: "get_balance" }
      const answers = yield* payInTurn(owner, balance, balance, balance)
      assert.deepStrictEqual(
        answers.map(([status]) => status),
        [400, 400, 429]
      )
    })
  )

  it.effect("The limits of an owner count messages that agents send", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const list = callInTurn(owner, "msg_1", { action: "list_agents" })
      for (let index = 0; index < 2; index++) assert.include(yield* list, "has not enabled the skill")
      assert.include(yield* list, "Too many requests")
    })
  )
})
