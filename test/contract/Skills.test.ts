import { WebApi } from "@berth/api/WebApi"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { SubscriptionRepository } from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { listRoutes } from "@berth/server/http/RouteTable"
import { assert, layer } from "@effect/vitest"
import { Array, DateTime, Effect, Schema } from "effect"
import { sql } from "../support/Sql.ts"
import { makeZip } from "../support/ZipArchive.ts"
import { insertAgent } from "../support/Samples.ts"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { lapseSubscription, type OwnerWithAgent, createOwnerWithAgent } from "./OwnerFixtures.ts"
import { ReconfigureInstanceJob } from "@berth/domain/agents/AgentJobs"

const get = (path: string, as: App.SignedIn) => App.web({ method: "GET", path, as })
const post = (json: unknown, as: App.SignedIn) => App.web({ method: "POST", path: "/api/agent", json, as })
const put = (json: unknown, as: OwnerWithAgent) =>
  App.web({ method: "PUT", path: `/api/agents/${as.agent.id}/config`, json, as })

const configOf = (owner: OwnerWithAgent) =>
  Effect.map(get(`/api/agents/${owner.agent.id}/config`, owner), ({ body }) => body["config"])
const healthOf = (owner: App.SignedIn) => Effect.map(get("/api/agent?action=health", owner), ({ body }) => body)
const Endpoints = Schema.Record({ key: Schema.String, value: Schema.NonEmptyString })
const Enabled = Schema.Array(Schema.Struct({ id: Schema.String, enabled: Schema.Boolean }))
const skillsOf = (owner: App.SignedIn, query = "") =>
  Effect.map(get(`/api/agent?action=skills${query}`, owner), ({ body: { skills } }) =>
    Object.fromEntries(Schema.decodeUnknownSync(Enabled)(skills).map(({ enabled, id }) => [id, enabled]))
  )
const toggle = (owner: App.SignedIn, skillId: string, enabled: boolean, agentId?: string) =>
  post({ action: "update-skill", skillId, enabled, agentId: agentId ?? null }, owner)
const resubscribe = ({ user }: App.SignedIn) =>
  Effect.flatMap(SubscriptionRepository, ({ save }) => save({ userId: user.id, plan: user.plan, status: "active" }))

layer(App.shared, { excludeTestServices: true })("An agent's skills", (it) => {
  it.effect("An agent's skills are switched in the row and then in the instance, and conversations continue", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro")
      const { calls } = yield* AgentManagerTest
      const reported = Effect.map(calls, (all) =>
        all.filter(({ method, target }) => method === "reconfigure" && target === owner.user.id)
      )
      assert.deepStrictEqual(yield* skillsOf(owner), { time: false, calculator: false, files: false })
      assert.strictEqual((yield* toggle(owner, "files", true)).status, 200)
      assert.strictEqual((yield* toggle(owner, "time", true)).status, 200)
      assert.strictEqual((yield* toggle(owner, "time", true)).status, 200)
      assert.deepStrictEqual(yield* skillsOf(owner), { time: true, calculator: false, files: true })
      assert.deepInclude(yield* configOf(owner), { skills: ["files", "time"], channels: ["web"], timezone: "UTC" })
      assert.deepInclude(yield* healthOf(owner), { skills: ["time", "files"] })
      assert.strictEqual((yield* toggle(owner, "files", false)).status, 200)
      assert.strictEqual((yield* toggle(owner, "files", false)).status, 200)
      assert.deepStrictEqual(yield* skillsOf(owner), { time: true, calculator: false, files: false })
      assert.lengthOf(yield* reported, 5)
      // One job repeats the changes to the instance, in the owner's lane.
      const jobs = yield* sql`
        select lane from outbox where name = ${ReconfigureInstanceJob.name} and payload->>'userId' = ${owner.user.id}`
      assert.deepStrictEqual(jobs, [{ lane: `tasks ${owner.user.id}` }])
      const { body } = yield* get(`/api/agent?action=session&sessionId=${owner.conversation}`, owner)
      assert.deepInclude(body["session"], { id: owner.conversation })
    })
  )

  it.effect(
    "An agent's skills include uploaded ones, which are checked, replaced, run with their arguments, and deleted",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent("pro")
        const call = (method: string, path: string, json?: unknown) =>
          App.web({
            method,
            path: `/api/agents/${owner.agent.id}${path}`,
            as: owner,
            ...(json === undefined ? {} : { json })
          })
        const parameters = { type: "object", properties: { text: { type: "string" } }, required: ["text"] }
        const tool = { name: "count_words", description: "Counts words", parameters, script: "count.mjs" }
        const files = [
          { path: "SKILL.md", content: "---\nname: word-count\ndescription: Counts words.\n---\n# Words" },
          { path: "tools.json", content: JSON.stringify([tool]) },
          { path: "count.mjs", content: "export default () => 1" }
        ]
        const uploaded = yield* call("POST", "/skills", { files })
        assert.strictEqual(uploaded.status, 201, uploaded.text)
        assert.containSubset(uploaded.body["skill"], {
          id: "word-count",
          name: "Words",
          tools: [{ name: "count_words" }]
        })
        assert.deepInclude(yield* skillsOf(owner), { "word-count": true, time: false })

        const zip = Buffer.from(makeZip(files.map(({ content, path }) => ({ name: path, text: content })))).toString(
          "base64"
        )
        assert.strictEqual((yield* call("POST", "/skills", { zip })).status, 201)
        assert.deepInclude((yield* call("GET", "/skills")).body, { count: 1 })
        const taken = files.map((file) => ({ ...file, content: file.content.replace("word-count", "time") }))
        assertError(yield* call("POST", "/skills", { files: taken }), { status: 400, code: "skill_invalid" })
        const second = files.map((file) => ({ ...file, content: file.content.replace("word-count", "other") }))
        assertError(yield* call("POST", "/skills", { files: second }), { status: 400, code: "skill_invalid" })

        const reserved = files.map((file) => ({ ...file, content: file.content.replace("count_words", "calculate") }))
        assertError(yield* call("POST", "/skills", { files: reserved }), { status: 400, code: "skill_invalid" })

        const run = (input: unknown) => call("POST", "/skills/word-count/runs", { input })
        for (const args of [{}, { text: 1 }, { text: "", more: true }])
          assertError(yield* run({ arguments: args }), { status: 400, code: "skill_input_invalid" })
        assert.strictEqual((yield* run({ arguments: { text: "one two" } })).status, 202)

        assert.strictEqual((yield* call("DELETE", "/skills/word-count")).status, 200)
        assertError(yield* call("DELETE", "/skills/word-count"), { status: 404, code: "skill_not_found" })
        assert.notProperty(yield* skillsOf(owner), "word-count")
        assert.notInclude(JSON.stringify(yield* configOf(owner)), "word-count")
      })
  )

  it.effect(
    "An agent's uploaded skills are limited per owner under concurrent requests, and removed with the agent",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent("pro")
        const upload = (name: string) =>
          App.web({
            method: "POST",
            path: `/api/agents/${owner.agent.id}/skills`,
            as: owner,
            json: {
              files: [
                { path: "SKILL.md", content: `---\nname: ${name}\ndescription: Large.\n---\n` },
                { path: "data.txt", content: "x".repeat(500 * 1024) }
              ]
            }
          })
        const statuses = yield* Effect.forEach(["a", "b", "c", "d", "e"], (name) => upload(name), { concurrency: 3 })
        assert.sameMembers(
          statuses.map(({ status }) => status),
          [201, 201, 201, 201, 429]
        )
        yield* sql`delete from agents where id = ${owner.agent.id}`
        assert.isEmpty(yield* sql`select id from uploaded_skills where agent_id = ${owner.agent.id}`)
      })
  )

  it.effect("An agent's skills are all stored when they are switched concurrently", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro")
      const skills = ["time", "calculator", "files"]
      for (const enabled of [true, false, true]) {
        const answers = yield* Effect.forEach([...skills, ...skills], (id) => toggle(owner, id, enabled), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
        assert.deepStrictEqual(yield* skillsOf(owner), Object.fromEntries(skills.map((id) => [id, enabled])))
      }
    })
  )

  it.effect("An agent's skills of a stopped agent are switched in its row, and no instance is configured", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro", "stopped")
      const { calls } = yield* AgentManagerTest
      const before = (yield* calls).length
      assert.strictEqual((yield* toggle(owner, "time", true)).status, 200)
      assert.deepInclude(yield* skillsOf(owner), { time: true })
      assert.deepStrictEqual((yield* calls).slice(before), [])
    })
  )

  it.effect(
    "An agent's skills beyond the plan are disabled after a downgrade and enabled after an upgrade, with the same configuration",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent("pro")
        const config = { skills: ["files", "time"], channels: ["web", "platformB", "platformA"] }
        assert.strictEqual((yield* put(config, owner)).status, 200)
        assert.deepInclude(yield* healthOf(owner), { ...config, skills: ["time", "files"] })
        yield* lapseSubscription(owner)
        assert.deepStrictEqual(yield* skillsOf(owner), { time: true, calculator: false, files: false })
        assert.deepInclude(yield* healthOf(owner), { skills: ["time"], channels: ["web", "platformA"] })
        assert.deepInclude(yield* configOf(owner), config)

        // Known skills can be sent back unchanged with another change; unknown ones are rejected.
        assert.strictEqual((yield* put({ ...config, temperature: 1 }, owner)).status, 200)
        assertError(yield* put({ channels: [...config.channels, "platformC"] }, owner), {
          status: 403,
          code: "plan_feature_required"
        })
        assertError(yield* toggle(owner, "files", true), { status: 403, code: "plan_feature_required" })
        assert.deepInclude(yield* configOf(owner), { ...config, temperature: 1 })
        yield* resubscribe(owner)
        assert.deepInclude(yield* skillsOf(owner), { files: true })
        yield* lapseSubscription(owner)
        assert.strictEqual((yield* toggle(owner, "files", false)).status, 200)
        yield* resubscribe(owner)
        assert.deepInclude(yield* skillsOf(owner), { files: false })
      })
  )

  it.effect("An agent's skills are stored once, however often they are named", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro")
      yield* put({ skills: ["time", "files", "time"], channels: ["web", "web"] }, owner)
      assert.deepInclude(yield* configOf(owner), { skills: ["time", "files"], channels: ["web"] })
      yield* toggle(owner, "time", false)
      assert.deepInclude(yield* configOf(owner), { skills: ["files"] })
    })
  )

  it.effect("An agent's skills are the basic ones of a new agent, or the requested ones", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("solo")
      const provision = (config: unknown) =>
        App.web({ method: "POST", path: "/api/agents/provision", as: owner, json: { name: "Ada", config } })
      const skillsOfNew = Effect.gen(function* () {
        const agents = yield* AgentRepository
        const [{ id }] = yield* Effect.filterOrDieMessage(
          agents.listOwned(owner.user.id),
          Array.isNonEmptyReadonlyArray,
          "no agent"
        )
        const { body: answer } = yield* get(`/api/agents/${id}/config`, owner)
        yield* App.web({ method: "DELETE", path: `/api/agents/provision/${id}`, as: owner })
        return answer["config"]
      })
      assert.strictEqual((yield* provision(null)).status, 201)
      assert.deepInclude(yield* skillsOfNew, { skills: ["time", "calculator"], channels: ["web"] })
      assert.strictEqual((yield* provision({ skills: ["files", "files"], channels: ["platformA"] })).status, 201)
      assert.deepInclude(yield* skillsOfNew, { skills: ["files"], channels: ["platformA"] })
      assert.strictEqual((yield* provision({ skills: [] })).status, 201)
      assert.deepInclude(yield* skillsOfNew, { skills: [] })
    })
  )
})

layer(App.shared, { excludeTestServices: true })("An agent's health", (it) => {
  it.effect("An agent's health is that of the named agent, else of the oldest running one, else of the oldest", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro", "stopped")
      assert.deepInclude(yield* healthOf(owner), { status: "stopped", uptime: 0 })
      const { id } = yield* insertAgent(owner.user.id, { status: "active" })
      assert.deepInclude(yield* healthOf(owner), { status: "active" })
      yield* toggle(owner, "time", true)
      assert.deepInclude(yield* skillsOf(owner, `&agentId=${id}`), { time: true })
      assert.deepInclude(yield* skillsOf(owner, `&agentId=${owner.agent.id}`), { time: false })
      yield* toggle(owner, "calculator", true, owner.agent.id)
      assert.deepInclude(yield* skillsOf(owner, `&agentId=${owner.agent.id}`), { time: false, calculator: true })
      const named = yield* get(`/api/agent?action=health&agentId=${owner.agent.id}`, owner)
      assert.deepInclude(named.body, { status: "stopped", skills: ["calculator"] })
      yield* put({ model: "custom", customModel: "openai/gpt-4o" }, owner)
      const changed = yield* get(`/api/agent?action=health&agentId=${owner.agent.id}`, owner)
      assert.deepInclude(changed.body, { model: "openai/gpt-4o" })
    })
  )

  it.effect("An agent's health reports the uptime of the instance, its model and the last activity", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro")
      const instances = yield* InstanceRepository
      assert.deepInclude(yield* healthOf(owner), { uptime: 0, version: "1.2.3-test" })
      const startedAt = DateTime.subtract(yield* DateTime.now, { seconds: 90 })
      yield* instances.update(owner.user.id, { status: "running", startedAt, runtimeVersion: "3.2.1" })
      const { uptime, version } = yield* healthOf(owner)
      assert.strictEqual(version, "3.2.1")
      assert.isTrue(typeof uptime === "number" && uptime >= 90 && uptime < 120, String(uptime))

      const seenAt = Effect.map(healthOf(owner), ({ lastSeen }) => Number(lastSeen))
      const before = yield* seenAt
      const beforeChat = yield* DateTime.now
      yield* App.web({ method: "POST", path: "/api/agent", as: owner, json: { message: "hello" } })
      assert.isAtLeast(yield* seenAt, beforeChat.epochMillis)
      assert.isBelow(before, beforeChat.epochMillis)
      const later = DateTime.add(yield* DateTime.now, { minutes: 1 })
      yield* instances.update(owner.user.id, { startedAt: later })
      assert.deepInclude(yield* healthOf(owner), { uptime: 0, lastSeen: later.epochMillis })
    })
  )
})

layer(App.shared, { excludeTestServices: true })("The index of GET /api/agent", (it) => {
  it.effect("The index of GET /api/agent lists every route of the group, and every action", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const { body } = yield* get("/api/agent", owner)
      const listed = Object.keys(Schema.decodeUnknownSync(Endpoints)(body["endpoints"]))
      const actions = ["health", "sessions", "session", "memory", "skills", "credentials"]
      for (const action of actions)
        assert.isTrue(
          listed.some((one) => one.startsWith(`GET /api/agent?action=${action}`)),
          action
        )
      for (const action of ["chat", "create-session", "update-skill", "set-credential"])
        assert.isTrue(
          listed.some((one) => one.startsWith(`POST /api/agent (action ${action}`)),
          action
        )
      for (const { method, path } of listRoutes(WebApi).filter(({ path }) => /^\/api\/(agent|chat)$/.test(path)))
        assert.isTrue(
          listed.some((one) => one.startsWith(`${method} ${path}`)),
          `${method} ${path}`
        )
    })
  )
})
