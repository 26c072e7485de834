import { RequiredScope } from "@berth/api/sessions/RequiredScope"
import { WebApi } from "@berth/api/WebApi"
import { ApiKeyScope } from "@berth/domain/sessions/ApiKeyScope"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { agentSocketRoutes } from "@berth/server/interaction/AgentSocketHttp"
import { HttpApi } from "@effect/platform"
import { Email } from "@berth/domain/shared/Email"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import * as App from "../support/TestApp.ts"
import { bearer, createApiKey, expireApiKey, revokeApiKey } from "./ApiKeyFixtures.ts"
import { readErrorCode } from "./ErrorAssertions.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"

interface CheckedRoute {
  readonly method: string
  readonly path: string
  readonly scope: ApiKeyScope | null
  readonly isAuthenticated: boolean
}

/** Their handlers read the session themselves and reject keys. */
const sessionHandlers = new Set([
  "GET /api/auth/session",
  "POST /api/auth/signout",
  "GET /api/wallet",
  "GET /api/wallet/address"
])

/** Routes that do not respond with 401 without a credential. */
const anonymousStatuses = new Map([
  ["GET /api/agents", 200],
  ["GET /agents/:id/.well-known/agent-card.json", 404]
])

/** The body names the sender, which access depends on: without one every caller receives 400. */
const readsBodyFirst = new Set(["POST /api/a2a/:agentId/messages"])

const nameOf = ({ method, path }: Pick<CheckedRoute, "method" | "path">) => `${method} ${path}`

const routes: Array<CheckedRoute> = agentSocketRoutes.map(({ method, path, scope }) => ({
  method,
  path,
  scope,
  isAuthenticated: true
}))
HttpApi.reflect(WebApi, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint: { method, path }, mergedAnnotations, middleware }) => {
    const authentications = [
      "SessionAuth",
      "PrincipalAuth",
      "A2aSenderAuth",
      "A2aPeerAuth",
      "AgentCardAuth",
      "OptionalPrincipalAuth",
      "BearerAuth",
      "AgentOwner",
      "InstanceOwnerAuth",
      "AdministratorAuth"
    ]
    routes.push({
      method,
      path,
      scope: Context.get(mergedAnnotations, RequiredScope),
      isAuthenticated:
        sessionHandlers.has(nameOf({ method, path })) ||
        [...middleware].some(({ key }) => authentications.includes(key))
    })
  }
})

const scoped = routes.flatMap(({ scope, ...route }) => (scope === null ? [] : [{ ...route, scope }]))
const sessionOnly = routes.filter(({ isAuthenticated, scope }) => scope === null && isAuthenticated)
const open = routes.filter(({ isAuthenticated, scope }) => scope === null && !isAuthenticated)

const messageOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    return String(
      (yield* App.web({ method: "POST", path: "/api/chat", as: owner, json: { message: "hi" } })).body["id"]
    )
  })

const decodeSchedule = Schema.decodeUnknownSync(Schema.Struct({ schedule: Schema.Struct({ id: Schema.String }) }))
const decodeRun = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))

const scheduleOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const json = { cron: "0 9 * * *", prompt: "hi" }
    const { body } = yield* App.web({
      method: "POST",
      path: `/api/agents/${owner.agent.id}/schedules`,
      as: owner,
      json
    })
    return decodeSchedule(body).schedule.id
  })

const runOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const path = `/api/agents/${owner.agent.id}`
    yield* App.web({ method: "PUT", path: `${path}/config`, as: owner, json: { skills: ["calculator"] } })
    const json = { input: { arguments: { expression: "1" } } }
    const { body } = yield* App.web({ method: "POST", path: `${path}/skills/calculator/runs`, as: owner, json })
    return decodeRun(body).id
  })

const uploadedSkillOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const json = { files: [{ path: "SKILL.md", content: "---\nname: uploaded\ndescription: Counts.\n---\n" }] }
    yield* App.web({ method: "POST", path: `/api/agents/${owner.agent.id}/skills`, as: owner, json })
    return "uploaded"
  })

const attachmentOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const path = `/api/agents/${owner.agent.id}/attachments?name=a.txt`
    const { body } = yield* App.web({ method: "POST", path, as: owner, body: "a" })
    return Schema.decodeUnknownSync(Schema.Struct({ attachment: Schema.Struct({ id: Schema.String }) }))(body)
      .attachment.id
  })

const noteOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const path = `/api/agents/${owner.agent.id}/memory/notes`
    const { body } = yield* App.web({ method: "POST", path, as: owner, json: { text: "Likes tea." } })
    return Schema.decodeUnknownSync(Schema.Struct({ note: Schema.Struct({ id: Schema.String }) }))(body).note.id
  })

const responseOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const json = { model: "openai/gpt-4", input: "hello" }
    return String((yield* App.web({ method: "POST", path: "/v1/responses", as: owner, json })).body["id"])
  })

const pathFor = ({ method, path }: CheckedRoute, owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const isUpload = method === "DELETE" && path.endsWith("/skills/:skillId")
    const skill = isUpload ? yield* uploadedSkillOf(owner) : "calculator"
    const message = path.includes(":messageId") ? yield* messageOf(owner) : ""
    const schedule = path.includes(":scheduleId") ? yield* scheduleOf(owner) : ""
    const run = path.includes(":skillId") && !isUpload ? yield* runOf(owner) : ""
    const response = path.startsWith("/v1/responses/") ? yield* responseOf(owner) : ""
    const attachment = path.includes(":attachmentId") ? yield* attachmentOf(owner) : ""
    const note = path.includes(":noteId") ? yield* noteOf(owner) : ""
    return path
      .replace(":attachmentId", attachment)
      .replace(":noteId", note)
      .replace("/v1/responses/:id", `/v1/responses/${response}`)
      .replace("/v1/models/:id", `/v1/models/agent%2F${owner.agent.id}`)
      .replace(":vendor/:name", `agent/${owner.agent.id}`)
      .replace(":messageId", message)
      .replace(":sessionId", owner.conversation)
      .replace(":scheduleId", schedule)
      .replace(":skillId", skill)
      .replace(":runId", run)
      .replace(":userId", owner.user.id)
      .replace("/api/ops/users/:id", `/api/ops/users/${owner.user.id}`)
      .replace(/:\w+/, owner.agent.id)
  })

/** A model that is an agent also requires the scope of conversations. */
const scopesOf = ({ path, scope }: CheckedRoute & { readonly scope: ApiKeyScope }): ReadonlyArray<ApiKeyScope> =>
  path.startsWith("/v1/models/") ? [scope, "chat"] : [scope]

const outcome = (answer: HttpCallResponse) => [answer.status, readErrorCode(answer)]

const malformed = ["berth_", "berth_x", `berth_${"A".repeat(43)}`, "berth_a.b.c", `berth_${"%00".repeat(9)}`]

const makeAdministrator = Effect.gen(function* () {
  const owner = yield* createOwnerWithAgent()
  const users = yield* UserRepository
  const email = Email.make(App.testAdminEmail)
  const previous = yield* users.findByEmail(email)
  if (Option.isSome(previous))
    yield* users.update(previous.value.user.id, { email: Email.make(`${previous.value.user.id}@example.com`) })
  yield* users.update(owner.user.id, { email })
  return owner
})

/** An owner, another user, and a key of the owner for each outcome. */
const createCallers = (scopes: ReadonlyArray<ApiKeyScope>) =>
  Effect.gen(function* () {
    const owner = yield* scopes.includes("admin") ? makeAdministrator : createOwnerWithAgent()
    const stranger = yield* createOwnerWithAgent()
    const [expired, revoked] = [yield* createApiKey(owner, ...scopes), yield* createApiKey(owner, ...scopes)]
    yield* expireApiKey(expired)
    yield* revokeApiKey(owner, revoked)
    const others = ApiKeyScope.literals.filter((scope) => scope !== scopes[0] && scope !== "admin")
    return {
      owner,
      stranger,
      expired,
      revoked,
      wrong: yield* createApiKey(owner, ...others),
      foreign: scopes.includes("admin") ? undefined : yield* createApiKey(stranger, ...scopes),
      accepted: yield* createApiKey(owner, ...scopes)
    }
  })

/** An owner that an accepted call may change. */
const createAccepted = (scopes: ReadonlyArray<ApiKeyScope>) =>
  Effect.gen(function* () {
    const owner = yield* createOwnerWithAgent()
    return { owner, accepted: yield* createApiKey(owner, ...scopes) }
  })

/** An owner with keys of every scope except that of administrators, for calls that reject or ignore them. */
class Keys extends Context.Tag("@berth/test/ApiKeyMatrixKeys")<
  Keys,
  Readonly<Record<"valid" | "expired", Effect.Effect.Success<ReturnType<typeof createApiKey>>>> & {
    readonly owner: OwnerWithAgent
    /** Callers with keys of one scope, for calls that are rejected or only read. */
    readonly findCallers: (scope: ApiKeyScope) => ReturnType<typeof createCallers>
  }
>() {}

const keys = Layer.effect(
  Keys,
  Effect.gen(function* () {
    const owner = yield* createOwnerWithAgent()
    const create = createApiKey(owner, "agents", "chat", "gateway", "billing")
    const [valid, expired] = [yield* create, yield* create]
    yield* expireApiKey(expired)
    const findCallers = yield* Effect.cachedFunction((scope: ApiKeyScope) => createCallers([scope]))
    return { owner, valid, expired, findCallers }
  })
)

const app = App.layer({ sendsSpans: false })

layer(Layer.provideMerge(keys, app), { excludeTestServices: true })("API keys and routes", (it) => {
  it("Every scope has routes, and many routes take no key", () => {
    for (const scope of ApiKeyScope.literals)
      assert.isTrue(
        scoped.some((route) => route.scope === scope),
        scope
      )
    assert.isAbove(sessionOnly.length, 15)
    assert.isAbove(open.length, 10)
  })

  it("Routes of accounts, sessions, keys and recovery take no key", () => {
    for (const { path } of scoped) assert.notMatch(path, /^\/api\/(settings|auth|keys|register|wallet)\b|\/token$/)
  })

  for (const route of scoped)
    it.effect(
      `${nameOf(route)} accepts keys of the scope ${route.scope}, of their owner alone, while they are valid`,
      () =>
        Effect.gen(function* () {
          const { method } = route
          const scopes = scopesOf(route)
          const { findCallers } = yield* Keys
          const isShared = scopes.length === 1 && route.scope !== "admin"
          const callers = yield* isShared ? findCallers(route.scope) : createCallers(scopes)
          const { expired, foreign, owner, revoked, stranger, wrong } = callers
          const path = yield* pathFor(route, owner)
          const send = (headers: Readonly<Record<string, string>>) => App.web({ method, path, headers })

          const anonymous = yield* send({})
          assert.strictEqual(anonymous.status, anonymousStatuses.get(nameOf(route)) ?? 401, anonymous.text)

          for (const text of malformed) {
            const refused = yield* send(bearer(text))
            assert.strictEqual(refused.status, 401, `${text}: ${refused.text}`)
            assert.strictEqual(refused.headers["www-authenticate"], 'Bearer realm="berth", error="invalid_token"')
          }
          for (const { headers } of [expired, revoked]) {
            const refused = yield* send(headers)
            assert.strictEqual(refused.status, 401, refused.text)
            // A valid cookie does not compensate an invalid token.
            assert.strictEqual((yield* send({ ...headers, cookie: owner.cookie })).status, 401)
          }

          const refused = yield* send(wrong.headers)
          assert.deepStrictEqual(outcome(refused), [403, "scope_missing"], refused.text)
          assert.strictEqual(refused.headers["www-authenticate"], 'Bearer realm="berth", error="insufficient_scope"')

          if (foreign !== undefined && route.path.includes("/:") && !readsBodyFirst.has(nameOf(route))) {
            const byKey = yield* send(foreign.headers)
            const bySession = yield* App.web({ method, path, as: stranger })
            assert.deepStrictEqual(outcome(byKey), outcome(bySession), byKey.text)
            assert.include([403, 404], byKey.status)
            assert.notStrictEqual(readErrorCode(byKey), "scope_missing")
          }

          const { accepted, owner: accepting } = isShared && method !== "GET" ? yield* createAccepted(scopes) : callers
          const acceptedPath = accepting === owner ? path : yield* pathFor(route, accepting)
          const answer = yield* App.web({ method, path: acceptedPath, headers: accepted.headers })
          assert.notInclude([401, 403, 404], answer.status, answer.text)
          assert.isBelow(answer.status, 500, answer.text)
        })
    )

  for (const route of sessionOnly)
    it.effect(`${nameOf(route)} refuses keys of every scope`, () =>
      Effect.gen(function* () {
        const { expired, owner, valid } = yield* Keys
        const path = yield* pathFor(route, owner)
        const send = (headers: Readonly<Record<string, string>>) => App.web({ method: route.method, path, headers })
        for (const headers of [valid.headers, { ...valid.headers, cookie: owner.cookie }]) {
          const refused = yield* send(headers)
          assert.deepStrictEqual(outcome(refused), [403, "scope_missing"], refused.text)
        }
        for (const headers of [expired.headers, ...malformed.map(bearer)]) {
          const refused = yield* send(headers)
          assert.strictEqual(refused.status, 401, refused.text)
        }
      })
    )

  it.effect("A key of an administrator with the scope admin opens no route of a session", () =>
    Effect.gen(function* () {
      const owner = yield* makeAdministrator
      const { headers } = yield* createApiKey(owner, ...ApiKeyScope.literals)
      for (const route of sessionOnly) {
        const refused = yield* App.web({ method: route.method, path: yield* pathFor(route, owner), headers })
        assert.deepStrictEqual(outcome(refused), [403, "scope_missing"], nameOf(route))
      }
    })
  )

  for (const route of open)
    it.effect(`${nameOf(route)} ignores keys, valid or not`, () =>
      Effect.gen(function* () {
        const { expired, owner, valid } = yield* Keys
        const path = yield* pathFor(route, owner)
        const send = (headers: Readonly<Record<string, string>>) => App.web({ method: route.method, path, headers })
        const anonymous = yield* send({})
        for (const headers of [valid.headers, expired.headers, bearer("berth_x")]) {
          const answer = yield* send(headers)
          assert.deepStrictEqual(outcome(answer), outcome(anonymous), answer.text)
        }
      })
    )
})
