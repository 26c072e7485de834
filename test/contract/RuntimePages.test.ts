import { runtimePagesPath } from "@berth/api/runtime/RuntimeContract"
import { PageNotReadable } from "@berth/domain/skills/web/WebPages"
import { AgentLog } from "@berth/domain/instances/AgentLog"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { WebPagesTest } from "@berth/infra/web-pages/WebPagesTest"
import { assert, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Redacted, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"
import { inTaskTurn } from "./TurnFixtures.ts"

const askFor = (owner: OwnerWithAgent, messageId: string, url: string, agentId: string = owner.agent.id) =>
  Effect.gen(function* () {
    const token = yield* (yield* InstanceRepository).ensureRuntimeToken(owner.user.id)
    return yield* App.backend({
      method: "POST",
      path: runtimePagesPath,
      headers: { authorization: `Bearer ${Redacted.value(token)}` },
      json: { agentId, messageId, url }
    })
  })
const open = (owner: OwnerWithAgent, url: string) => inTaskTurn(owner, (messageId) => askFor(owner, messageId, url))

const page = "https://site.example/a?key=hunter2"

layer(App.layer({ limits: { "runtime-page": { count: 6, window: Duration.hours(1) } } }), {
  excludeTestServices: true
})("The page route of runtimes", (it) => {
  it.effect(
    "The page route of runtimes returns a page with its address and type, and notes it in the agent's log",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { headers, status, text } = yield* open(owner, page)
        assert.deepStrictEqual([status, text], [200, `<p>This is ${page}`])
        assert.deepStrictEqual([headers["content-type"], headers["content-location"]], ["text/html", page])
        const { entries } = yield* (yield* AgentLog).read(owner.user.id, { limit: 10 })
        assert.deepStrictEqual(
          entries.map(({ level, message }) => [level, message]),
          [["info", "Web page read: https://site.example/a"]]
        )
      })
  )

  it.effect("The page route of runtimes refuses a page in a sentence", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { withBehavior } = yield* WebPagesTest
      const reason = "The host is not on the public internet."
      const refused = yield* withBehavior({ open: () => new PageNotReadable({ reason }) })(open(owner, page))
      assertError(refused, { status: 422, code: "page_not_readable" })
      assert.strictEqual(refused.body["message"], reason)
      const { entries } = yield* (yield* AgentLog).read(owner.user.id, { limit: 10, level: "warning" })
      assert.strictEqual(entries[0]?.message, `Web page not read: https://site.example/a: ${reason}`)
    })
  )

  it.effect("The page route of runtimes serves turns in progress only, of the token's owner", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const ended = { status: 404, code: "turn_not_in_progress" }
      assertError(yield* askFor(owner, "msg_none", page), ended)
      yield* inTaskTurn(owner, (messageId) =>
        Effect.gen(function* () {
          assertError(yield* askFor(stranger, messageId, page, owner.agent.id), ended)
          assertError(yield* askFor(stranger, messageId, page), ended)
          assert.strictEqual((yield* askFor(owner, messageId, page)).status, 200)
        })
      )
      const json = { agentId: owner.agent.id, messageId: "msg_1", url: page }
      for (const authorization of ["", "Bearer nothing", `Basic ${owner.cookie}`])
        assertError(yield* App.backend({ method: "POST", path: runtimePagesPath, json, headers: { authorization } }), {
          status: 401,
          code: "runtime_token_invalid"
        })
    })
  )

  it.effect("The page route of runtimes limits each owner, and one owner's pages count for no other", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      for (let left = 6; left > 0; left--) assert.strictEqual((yield* open(owner, page)).status, 200)
      const refused = yield* open(owner, page)
      assertError(refused, { status: 429, code: "rate_limit_exceeded" })
      assert.isDefined(refused.headers["retry-after"])
      // The limit counts the token's owner, whichever agent the body names.
      assertError(yield* askFor(owner, "msg_none", page, stranger.agent.id), {
        status: 429,
        code: "rate_limit_exceeded"
      })
      assert.strictEqual((yield* open(stranger, page)).status, 200)
    })
  )

  it.effect(
    "The page route of runtimes opens four pages of one owner at a time, and those of others without delay",
    () =>
      Effect.gen(function* () {
        const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
        const { calls, withBehavior } = yield* WebPagesTest
        const isOpen = yield* Deferred.make<void>()
        const before = (yield* calls).length
        const opened = Effect.map(calls, (all) => all.slice(before).length)
        yield* withBehavior({
          open: () =>
            Effect.as(Deferred.await(isOpen), { url: new URL(page), contentType: "text/plain", body: Stream.empty })
        })(
          Effect.gen(function* () {
            const many = yield* Effect.fork(
              Effect.all(
                Array.from({ length: 6 }, () => open(owner, page)),
                { concurrency: "unbounded" }
              )
            )
            yield* eventually(opened, (count) => count === 4)
            const other = yield* Effect.fork(open(stranger, page))
            yield* eventually(opened, (count) => count === 5)
            yield* Deferred.succeed(isOpen, undefined)
            for (const { status } of yield* Fiber.join(many)) assert.strictEqual(status, 200)
            assert.strictEqual((yield* Fiber.join(other)).status, 200)
          })
        )
      })
  )
})
