import { WebApi } from "@berth/api/WebApi"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { type KnownRoute, listRoutes } from "@berth/server/http/RouteTable"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { insertAgent } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createApiKey } from "./ApiKeyFixtures.ts"
import { withoutTraceId } from "./ErrorAssertions.ts"
import { type OwnerWithAgent, createOwnerWithAgent } from "./OwnerFixtures.ts"

/** A path parameter: the owner's value, an unknown id, and the status for another user. */
interface Kind {
  readonly of: (owner: OwnerWithAgent) => string | ReturnType<typeof messageOf> | ReturnType<typeof sessionOf>
  readonly guessed: string
  readonly refusal: number
}

const agent: Kind = { of: ({ agent: { id } }) => id, guessed: "agt_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b", refusal: 404 }
const instance: Kind = { of: ({ user: { id } }) => id, guessed: "usr_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b", refusal: 403 }

const messageOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const { body } = yield* App.web({ method: "POST", path: "/api/chat", as: owner, json: { message: "hello" } })
    return String(body["id"])
  })
const idOf = (kind: Kind, owner: OwnerWithAgent) => {
  const id = kind.of(owner)
  return typeof id === "string" ? Effect.succeed(id) : id
}
const message: Kind = { of: messageOf, guessed: "msg_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b", refusal: 404 }

const sessionOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const [session] = yield* (yield* Sessions).listByUser(owner.user.id)
    return session?.id ?? "none"
  })
const session: Kind = { of: sessionOf, guessed: "ses_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b", refusal: 404 }

const apiKeyOf = (owner: OwnerWithAgent) => Effect.map(createApiKey(owner, "chat"), ({ id }) => id)
const apiKey: Kind = { of: apiKeyOf, guessed: "key_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b", refusal: 404 }

const endpointOf = (as: OwnerWithAgent) =>
  Effect.gen(function* () {
    const json = { url: "https://receiver.example/", events: ["agent.status"] }
    return String((yield* App.web({ method: "POST", path: "/api/webhooks/endpoints", as, json })).body["id"])
  })
const endpoint: Kind = { of: endpointOf, guessed: "whe_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b", refusal: 404 }

const conversation: Kind = {
  of: (owner) => owner.conversation,
  guessed: "chs_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b",
  refusal: 404
}

const responseOf = (as: OwnerWithAgent) =>
  Effect.gen(function* () {
    const json = { model: "openai/gpt-4", input: "hello" }
    return String((yield* App.web({ method: "POST", path: "/v1/responses", as, json })).body["id"])
  })
const response: Kind = { of: responseOf, guessed: "resp_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b", refusal: 404 }

const kinds: ReadonlyArray<readonly [RegExp, Kind]> = [
  [/^\/api\/agent\/messages\/:messageId(\/|$)/, message],
  [/^\/api\/agent\/sessions\/:sessionId$/, conversation],
  [/^\/api\/auth\/sessions\/:id$/, session],
  [/^\/api\/keys\/:id$/, apiKey],
  [/^\/v1\/responses\/:id(\/|$)/, response],
  [/^\/api\/webhooks\/endpoints\/:id(\/|$)/, endpoint],
  [/^(\/api)?\/agents\/:id(\/|$)/, agent],
  [/^\/api\/agents\/provision\/:id$/, agent],
  [/^\/api\/instance\/:userId(\/|$)/, instance]
]

const malformed = [
  "0",
  "%20",
  "agt_",
  "usr_",
  "a".repeat(2_000),
  "%27%20or%201=1--",
  "%F0%9F%98%80",
  "..%2F..%2Fetc%2Fpasswd",
  "%2e%2e",
  "null",
  "undefined",
  "__proto__",
  "*",
  "%25"
]

/** Ids of an agent's objects: the agent is looked up first. */
const withinAgent =
  /(?<=^(?:\/api)?\/agents\/:id\/.*)\/:(scheduleId|skillId|runId|operation|taskId|notificationId|attachmentId|noteId)/g

const nameOf = ({ method, path }: KnownRoute) => `${method} ${path}`

/** Deprecated for every caller and id. */
const deprecated = new Set(["PUT /api/agents/:id", "DELETE /api/agents/:id"])

/** Stream keys and ids of live streams are secrets themselves, not owned objects. */
const isOfLiveStreams = ({ path }: KnownRoute) => path.startsWith("/live/")
/** Each caller has its own list of models, which `OpenAiGateway.test.ts` tests. */
const isModel = ({ path }: KnownRoute) => path.startsWith("/v1/models/")
const routesWithIds = listRoutes(WebApi).filter(
  (route) => route.path.includes("/:") && !isOfLiveStreams(route) && !isModel(route)
)
/** Platforms authenticate with a secret of the agent. */
const isWebhook = ({ path }: KnownRoute) => /^\/api\/webhooks\/(?!endpoints\/)/.test(path)
/** Another owner's agent can allow the sender. */
const isOfA2a = ({ path }: KnownRoute) => path.startsWith("/api/a2a/")
const isForAdministrators = ({ path }: KnownRoute) => path.startsWith("/api/ops/")
const idRoutes = routesWithIds.filter(
  (route) => !deprecated.has(nameOf(route)) && !isForAdministrators(route) && !isWebhook(route) && !isOfA2a(route)
)
const administrationRoutes = listRoutes(WebApi).filter(isForAdministrators)
const goneRoutes = routesWithIds.filter((route) => deprecated.has(nameOf(route)))

const detailRoute = { method: "GET", path: "/api/agents/:id" }

const send = (route: Pick<KnownRoute, "method" | "path">, id: string, as?: App.SignedIn) =>
  App.web({
    method: route.method,
    path: route.path.replace(withinAgent, "/none").replace(/:\w+/, id),
    ...(as === undefined ? {} : { as })
  })

/** The observable parts of a response: status, headers without timestamps, and body. */
const seen = (answer: HttpCallResponse) => {
  const { date: _date, "x-request-id": _id, ...headers } = answer.headers
  return JSON.stringify([answer.status, headers, withoutTraceId(answer)])
}

/** An owner and another user, for rejected calls, which change nothing. */
class Users extends Context.Tag("@berth/test/OwnershipUsers")<
  Users,
  { readonly owner: OwnerWithAgent; readonly stranger: OwnerWithAgent }
>() {}

const users = Layer.effect(Users, Effect.all({ owner: createOwnerWithAgent(), stranger: createOwnerWithAgent() }))

layer(Layer.provideMerge(users, App.shared), { excludeTestServices: true })("Ownership of ids", (it) => {
  it("Every path parameter has a kind", () => {
    for (const { path } of idRoutes) {
      assert.lengthOf(
        kinds.filter(([pattern]) => pattern.test(path)),
        1,
        `what ${path} names`
      )
      assert.lengthOf(path.replace(withinAgent, "/none").match(/:\w+/g) ?? [], 1, path)
    }
    assert.isAtLeast(idRoutes.length, 6)
  })

  for (const route of idRoutes)
    for (const [pattern, kind] of kinds) {
      if (!pattern.test(route.path)) continue
      const name = nameOf(route)

      it.effect(`${name} responds to another user as to an unknown id`, () =>
        Effect.gen(function* () {
          const users = yield* Users
          const { owner } = users
          // The limit of lifecycle operations counts rejected calls.
          const stranger = kind === instance ? yield* createOwnerWithAgent() : users.stranger
          const { calls } = yield* AgentManagerTest
          const owned = yield* idOf(kind, owner)
          const before = (yield* calls).length
          const ofAnother = yield* send(route, owned, stranger)
          assert.strictEqual(ofAnother.status, kind.refusal, ofAnother.text)
          assert.notInclude(ofAnother.text, owner.user.id)
          for (const id of [kind.guessed, owned.toUpperCase(), `${owned}%20`, ...malformed])
            assert.strictEqual(seen(yield* send(route, id, stranger)), seen(ofAnother), id)
          assert.deepStrictEqual((yield* calls).slice(before), [])
        })
      )

      // The card of an agent is 404 to every caller that may not communicate with it.
      const refusal = name === "GET /agents/:id/.well-known/agent-card.json" ? 404 : 401
      it.effect(`${name} responds ${refusal} to every id without a session`, () =>
        Effect.gen(function* () {
          const { owner } = yield* Users
          const ofSomebody = yield* send(route, yield* idOf(kind, owner))
          assert.strictEqual(ofSomebody.status, refusal, ofSomebody.text)
          for (const id of [kind.guessed, ...malformed])
            assert.strictEqual(seen(yield* send(route, id)), seen(ofSomebody), id)
        })
      )

      it.effect(`${name} accepts its owner`, () =>
        Effect.gen(function* () {
          const owner = yield* createOwnerWithAgent()
          const own = yield* send(route, yield* idOf(kind, owner), owner)
          const isOfAgent = route.path.match(withinAgent) !== null
          if (isOfAgent) assert.notInclude(own.text, "agent_not_found")
          assert.notInclude([401, 403, ...(isOfAgent ? [] : [404]), 405], own.status, own.text)
          assert.isBelow(own.status, 500, own.text)
        })
      )
    }

  for (const route of administrationRoutes)
    it.effect(`${nameOf(route)} refuses everyone but administrators before it reads ids and bodies`, () =>
      Effect.gen(function* () {
        const { owner } = yield* Users
        const anonymous = yield* send(route, owner.user.id)
        const refused = yield* send(route, owner.user.id, owner)
        assert.deepStrictEqual([anonymous.status, refused.status], [401, 403], refused.text)
        assert.notInclude(refused.text, owner.user.id)
        if (!route.path.includes("/:")) return
        for (const id of [instance.guessed, ...malformed]) {
          assert.strictEqual(seen(yield* send(route, id)), seen(anonymous), id)
          assert.strictEqual(seen(yield* send(route, id, owner)), seen(refused), id)
        }
      })
    )

  for (const route of routesWithIds.filter(isWebhook))
    it.effect(`${nameOf(route)} refuses everyone without the secret, whether or not the agent exists`, () =>
      Effect.gen(function* () {
        const { owner } = yield* Users
        const refused = yield* send(route, owner.agent.id)
        assert.strictEqual(refused.status, 401, refused.text)
        for (const id of [agent.guessed, ...malformed])
          assert.strictEqual(seen(yield* send(route, id)), seen(refused), id)
      })
    )

  for (const route of goneRoutes)
    it.effect(`${nameOf(route)} responds 410 to every caller and for any id`, () =>
      Effect.gen(function* () {
        const { owner, stranger } = yield* Users
        const ids = [owner.agent.id, agent.guessed, ...malformed, "%0D%0Ax-planted:%20y", "%E2%98%83", "%22%3E%3Cb%3E"]
        for (const id of ids) {
          const answers = [
            yield* send(route, id),
            yield* send(route, id, stranger),
            yield* send(route, id, owner)
          ] as const
          assert.deepStrictEqual(
            answers.map(({ status }) => status),
            [410, 410, 410],
            id
          )
          const [anonymous, ...authenticated] = answers
          assert.strictEqual(new Set(authenticated.map(seen)).size, 1, id)
          assert.deepStrictEqual(withoutTraceId(anonymous), withoutTraceId(authenticated[0] ?? anonymous), id)
          assert.notProperty(answers[0]?.headers ?? {}, "x-planted")
        }
        assert.strictEqual((yield* send(detailRoute, owner.agent.id, owner)).status, 200)
      })
    )

  const named: ReadonlyArray<readonly [string, (ids: { session: string; agent: string }) => App.AppCall]> = [
    ["a session that is read", ({ session }) => read(`action=session&sessionId=${session}`)],
    ["the sessions of an agent", ({ agent: id }) => read(`action=sessions&agentId=${id}`)],
    ["the memory of an agent", ({ agent: id }) => read(`action=memory&agentId=${id}`)],
    ["a session that is talked in", ({ session }) => say({ message: "hello", sessionId: session })],
    ["an agent that is talked to", ({ agent: id }) => say({ message: "hello", agentId: id })],
    [
      "an agent that a chat is sent to",
      ({ agent: id }) => ({ method: "POST", path: "/api/chat", json: { message: "hello", agentId: id } })
    ],
    ["the health of an agent", ({ agent: id }) => read(`action=health&agentId=${id}`)],
    ["the skills of an agent", ({ agent: id }) => read(`action=skills&agentId=${id}`)],
    ["the credentials of an agent's owner", ({ agent: id }) => read(`action=credentials&agentId=${id}`)],
    [
      "an agent whose skill is switched",
      ({ agent: id }) => say({ action: "update-skill", skillId: "time", enabled: true, agentId: id })
    ],
    [
      "an agent whose owner's credential is set",
      ({ agent: id }) => say({ action: "set-credential", key: "openai", value: "v", agentId: id })
    ],
    [
      "an agent that is deployed",
      ({ agent: id }) => ({ method: "POST", path: "/api/deployments", json: { agentId: id } })
    ],
    ["an agent that a session is opened with", ({ agent: id }) => say({ action: "create-session", agentId: id })]
  ]
  const read = (query: string) => ({ method: "GET", path: `/api/agent?${query}` })
  const say = (json: unknown) => ({ method: "POST", path: "/api/agent", json })

  for (const [what, call] of named)
    it.effect(`${what} is as unknown in a query or a body as in a path`, () =>
      Effect.gen(function* () {
        const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
        const { calls } = yield* AgentManagerTest
        const before = (yield* calls).length
        const ofAnother = yield* App.web({
          ...call({ session: owner.conversation, agent: owner.agent.id }),
          as: stranger
        })
        assert.strictEqual(ofAnother.status, 404, ofAnother.text)
        for (const id of ["chs_0", agent.guessed, "a".repeat(2_000), "x%00y"]) {
          const ofNothing = yield* App.web({ ...call({ session: id, agent: id }), as: stranger })
          if (id !== "x%00y") assert.strictEqual(seen(ofNothing), seen(ofAnother), id)
          else assert.strictEqual(ofNothing.status, 404)
        }
        assert.deepStrictEqual((yield* calls).slice(before), [])
        const own = yield* App.web({ ...call({ session: owner.conversation, agent: owner.agent.id }), as: owner })
        assert.strictEqual(own.status, 200, own.text)
      })
    )

  it.effect("Lists contain the caller's own entities only", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      yield* App.web({ ...say({ message: "a secret" }), as: owner })
      const paths = [
        "/api/auth/sessions",
        "/api/agents",
        "/api/agents/provision",
        "/api/agent?action=sessions",
        "/api/agent?action=memory"
      ]
      for (const path of [...paths, "/api/chat"]) {
        const { text } = yield* App.web({ method: "GET", path, as: stranger })
        const ownSession = yield* sessionOf(owner)
        for (const ownersOwn of [owner.agent.id, owner.conversation, owner.user.id, ownSession, "a secret"])
          assert.notInclude(text, ownersOwn, path)
        const own = yield* App.web({ method: "GET", path, as: owner })
        assert.strictEqual(own.status, 200)
        assert.isTrue(
          [owner.agent.id, owner.conversation, ownSession, "a secret"].some((mine) => own.text.includes(mine)),
          path
        )
      }
    })
  )

  it.effect("A message of POST /api/chat is sent to the named agent, and without one to the oldest", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { id: agentId } = yield* insertAgent(owner.user.id)
      for (const headers of [{}, { accept: "text/event-stream" }])
        for (const named of [{ agentId }, { agentId: null }, {}]) {
          const json = { message: "agentId" in named ? `to ${named.agentId}` : "to none", ...named }
          const sent = yield* App.web({ method: "POST", path: "/api/chat", as: owner, json, headers })
          assert.strictEqual(sent.status, 200, sent.text)
        }
      const contentsOf = (id: string) =>
        Effect.map(sql`select content from messages where agent_id = ${id} and sender = 'user' order by seq`, (rows) =>
          rows.map(({ content }) => content)
        )
      assert.deepStrictEqual(yield* contentsOf(agentId), [`to ${agentId}`, `to ${agentId}`])
      assert.deepStrictEqual(yield* contentsOf(owner.agent.id), ["to null", "to none", "to null", "to none"])
    })
  )

  it.effect("A session with one agent is not valid for another", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      for (const agentId of [stranger.agent.id, "agt_0"]) {
        const answer = yield* App.web({
          ...say({ message: "hello", sessionId: owner.conversation, agentId }),
          as: owner
        })
        assert.deepStrictEqual([answer.status, answer.body["code"]], [404, "chat_session_not_found"])
      }
    })
  )

  it.effect("The user cannot be named in a body or a query", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const { calls } = yield* AgentManagerTest
      const before = (yield* calls).length
      yield* App.web({ ...say({ message: "hello", userId: owner.user.id }), as: stranger })
      yield* App.web({
        method: "POST",
        path: `/api/chat?userId=${owner.user.id}`,
        as: stranger,
        json: { message: "hi", userId: owner.user.id }
      })
      assert.deepStrictEqual(
        (yield* calls).slice(before).map(({ target }) => target),
        [stranger.user.id, stranger.user.id]
      )
      const listed = yield* App.web({ method: "GET", path: `/api/agents?userId=${owner.user.id}`, as: stranger })
      assert.notInclude(listed.text, owner.agent.id)
    })
  )
})
