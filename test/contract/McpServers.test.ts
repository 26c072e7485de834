import { runtimeMcpPath } from "@berth/api/runtime/RuntimeContract"
import { AgentLog } from "@berth/domain/instances/AgentLog"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import { startFakeMcpServer } from "../fakes/FakeMcpServer.ts"
import { assertMatches } from "../support/Matching.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"
import { inTaskTurn } from "./TurnFixtures.ts"

const secret = "Bearer sk-of-the-owner"

const put = (owner: OwnerWithAgent, ...servers: ReadonlyArray<unknown>) =>
  App.web({ method: "PUT", path: `/api/agents/${owner.agent.id}/mcp-servers`, as: owner, json: { servers } })

const callInTurn = (owner: OwnerWithAgent, call: unknown) =>
  inTaskTurn(owner, (messageId) => callWith(owner, messageId, call))

const callWith = (owner: OwnerWithAgent, messageId: string, call: unknown, agentId: string = owner.agent.id) =>
  Effect.gen(function* () {
    const token = yield* (yield* InstanceRepository).ensureRuntimeToken(owner.user.id)
    const headers = { authorization: `Bearer ${Redacted.value(token)}` }
    return yield* App.backend({ method: "POST", path: runtimeMcpPath, headers, json: { agentId, messageId, call } })
  })

const echo = startFakeMcpServer({
  tools: [{ name: "echo", description: "Echoes." }],
  call: (_, args, { headers }) => {
    if (args["text"] === "fail") throw new Error(`No access with ${headers.authorization}`)
    return { content: [{ type: "text", text: `${headers.authorization === secret} ${String(args["text"])}` }] }
  }
})

layer(
  App.layer({
    outboundAllowCidrs: ["127.0.0.0/8"],
    limits: { "runtime-page": { count: 3, window: Duration.hours(1) } }
  }),
  { excludeTestServices: true }
)("MCP servers of agents", (it) => {
  it.effect("PUT mcp-servers replaces the list, seals the secrets, and no answer has them", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const notes = { name: "notes", url: "http://127.0.0.1:9/mcp?key=sk-in-query" }
      const stored = yield* put(owner, { ...notes, headers: { Authorization: secret } })
      assert.strictEqual(stored.status, 200)
      const { body, text } = yield* App.web({
        method: "GET",
        path: `/api/agents/${owner.agent.id}/mcp-servers`,
        as: owner
      })
      assert.deepStrictEqual(body, stored.body)
      assert.notInclude(text, "sk-of-the-owner")
      const masked = "http://127.0.0.1:9/mcp?key=***"
      assertMatches(body, { servers: [{ url: masked }] })
      const rows = yield* sql`select * from mcp_servers where agent_id = ${owner.agent.id}`
      assert.notInclude(JSON.stringify(rows), "sk-of-the-owner")
      const kept = yield* put(owner, { ...notes, url: masked }, { name: "other", url: "http://127.0.0.1:9/" })
      assert.include(kept.text, '"headers":["Authorization"]')
      const urls = yield* sql`select url from mcp_servers where agent_id = ${owner.agent.id} order by name`
      assert.deepStrictEqual(urls, [{ url: notes.url }, { url: "http://127.0.0.1:9/" }])
      assertError(yield* put(owner, { ...notes, url: "http://127.0.0.1:9/elsewhere" }), {
        status: 400,
        code: "mcp_servers_invalid"
      })
      assert.strictEqual((yield* put(owner)).text, '{"servers":[],"count":0}')
    })
  )

  it.effect("Turns list and call the tools of the agent's servers; secrets stay in the backend", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { requests, url } = yield* echo
      const away = { name: "away", url: "http://127.0.0.1:1/" }
      yield* put(owner, { name: "notes", url, headers: { Authorization: secret } }, away)
      const listed = yield* callInTurn(owner, { action: "list" })
      const spec = {
        name: "notes__echo",
        description: "Tool of the MCP server notes. Echoes.",
        parameters: { type: "object", properties: {} }
      }
      assert.deepStrictEqual(JSON.parse(String(listed.body["text"])), [{ server: "notes", tool: "echo", spec }])
      const calls = requests.length
      assert.strictEqual((yield* callInTurn(owner, { action: "list" })).text, listed.text)
      assert.lengthOf(requests, calls)

      const call = { action: "call", server: "notes", tool: "echo" }
      const answered = yield* callInTurn(owner, { ...call, arguments: { text: "hi" } })
      assert.deepStrictEqual(answered.body, { text: "true hi" })
      const failed = yield* callInTurn(owner, { ...call, arguments: { text: "fail" } })
      assertError(failed, { status: 422, code: "mcp_call_failed" })
      assert.match(String(failed.body["message"]), /No access with \[redacted\]/)
      const { entries } = yield* (yield* AgentLog).read(owner.user.id, { limit: 10 })
      const log = entries.map(({ message }) => message).join("\n")
      const unreached = "MCP server away offers no tools: It could not be reached."
      // Once for both lists: a runtime that repeats the call does not fill the log.
      assert.lengthOf(
        entries.filter(({ message }) => message === unreached),
        1
      )
      assert.notInclude(log, "sk-of-the-owner")
    }).pipe(Effect.scoped)
  )

  it.effect("Tools of MCP servers serve turns in progress of the token's owner, within the owner's limit", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const { requests, url } = yield* echo
      yield* put(owner, { name: "notes", url, headers: { Authorization: secret } })
      const call = { action: "call", server: "notes", tool: "echo", arguments: {} }
      const ended = { status: 404, code: "turn_not_in_progress" }
      assertError(yield* callWith(owner, "msg_none", call), ended)
      assertError(yield* callWith(owner, "msg_none", { action: "list" }), ended)
      yield* inTaskTurn(owner, (messageId) =>
        Effect.gen(function* () {
          assertError(yield* callWith(stranger, messageId, call, owner.agent.id), {
            status: 404,
            code: "agent_not_in_instance"
          })
          assertError(yield* callWith(stranger, messageId, call), ended)
          assert.strictEqual((yield* callWith(owner, messageId, call)).status, 200)
          const unknown = yield* callWith(owner, messageId, { ...call, server: "other" })
          assertError(unknown, { status: 422, code: "mcp_call_failed" })
          const limited = yield* callWith(owner, messageId, call)
          assertError(limited, { status: 429, code: "rate_limit_exceeded" })
          assert.isDefined(limited.headers["retry-after"])
        })
      )
      assert.isTrue(requests.every(({ headers }) => headers.authorization === secret))
    }).pipe(Effect.scoped)
  )
})
