import { sandboxModel } from "@berth/infra/ai/sandbox/SandboxModelProvider"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Option, Schedule, type Scope, TestClock, Tracer } from "effect"
import { createServer, type ServerResponse } from "node:http"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { waitForCondition } from "../fakes/models/ModelWires.ts"
import { accessTo, fakeOpenRouter, makeCatalog, openRouterEntry } from "../support/AiLayers.ts"
import { listenLocally } from "../support/LocalServer.ts"
import { assertMatches } from "../support/Matching.ts"
import { recordLogs } from "../support/RecordedTelemetry.ts"

const logging = <A, E, R>(effect: (lines: ReadonlyArray<string>) => Effect.Effect<A, E, R>) => {
  const { layer, lines } = recordLogs()
  return Effect.provide(effect(lines), layer)
}

const serving = (answer: (response: ServerResponse) => void): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(listenLocally(createServer((_, response) => answer(response))), ({ origin }) => origin)

const asksOf = (received: ReadonlyArray<{ readonly path: string }>) =>
  received.filter(({ path }) => path === "/v1/models").length

describe("ModelCatalog", () => {
  it.scoped("ModelCatalog requests the list again after ten minutes, once for all readers and in none's trace", () =>
    Effect.gen(function* () {
      const native = yield* Effect.tracer
      const parents: Array<Option.Option<Tracer.AnySpan>> = []
      const tracer = Tracer.make({
        ...native,
        span: (name, parent, ...rest) => {
          if (name === "ModelCatalog.load") parents.push(parent)
          return native.span(name, parent, ...rest)
        }
      })
      const fake = yield* makeFakeOpenAi({ models: [openRouterEntry("openai/gpt-4o")], modelsArePublic: true })
      const { all } = yield* makeCatalog({ openRouterUrl: fake.baseUrl })
      const crowd = Effect.all(
        Array.from({ length: 50 }, () => all),
        { concurrency: "unbounded" }
      ).pipe(Effect.withSpan("request"), Effect.withTracer(tracer))
      yield* crowd
      assert.strictEqual(asksOf(fake.received), 1)
      yield* TestClock.adjust("599 seconds")
      yield* crowd
      assert.strictEqual(asksOf(fake.received), 1)
      yield* TestClock.adjust("1 second")
      yield* crowd
      yield* crowd
      yield* Effect.promise(() => Effect.runPromise(waitForCondition(() => asksOf(fake.received) === 2)))
      yield* crowd
      assert.strictEqual(asksOf(fake.received), 2)
      assert.deepStrictEqual(parents, [Option.none()])
    })
  )

  it.scopedLive("ModelCatalog omits malformed entries and logs them in one line", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const fake = yield* makeFakeOpenAi({
          models: [
            openRouterEntry("openai/gpt-4o"),
            openRouterEntry("acme/broken", { pricing: { prompt: 5, completion: 5 } }),
            openRouterEntry("acme/timeless", { context_length: null }),
            "nonsense",
            null,
            // A valid entry of a model without chat.
            openRouterEntry("acme/painter", {
              architecture: { input_modalities: ["text"], output_modalities: ["image"] }
            })
          ],
          modelsArePublic: true
        })
        const { all } = yield* makeCatalog({ openRouterUrl: fake.baseUrl })
        const models = yield* all
        assert.deepStrictEqual(
          models.filter(({ id }) => !id.startsWith("groq/")).map(({ id }) => id),
          ["openai/gpt-4o"]
        )
        const warnings = lines.filter((line) => line.includes("Malformed model list entries omitted"))
        assert.lengthOf(warnings, 1)
        assert.include(warnings[0], `"entries":4`)
        assert.include(warnings[0], "acme/broken, acme/timeless, without an id")
      })
    )
  )

  it.scopedLive("ModelCatalog rejects an endless list and uses the shipped one", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const url = yield* serving((response) => {
          response.writeHead(200, { "content-type": "application/json" }).write(`{"data":[`)
          const more = () => {
            while (!response.destroyed && response.write(`"${"x".repeat(64 * 1024)}",`)) continue
            if (!response.destroyed) response.once("drain", more)
          }
          more()
        })
        const { all } = yield* makeCatalog({ openRouterUrl: url, loadTimeout: "30 seconds" })
        assert.isAbove((yield* all).length, 60)
        assert.include(lines.join(), "answer over 16777216 bytes")
      })
    )
  )

  it.scopedLive(
    "ModelCatalog marks a vendor's listed models as available with its key, at the prices of the public list",
    () =>
      Effect.gen(function* () {
        const router = yield* makeFakeOpenAi({
          models: [
            openRouterEntry("openai/gpt-99"),
            openRouterEntry("openai/gpt-4o"),
            openRouterEntry("openai/gpt-98")
          ],
          modelsArePublic: true
        })
        const vendor = yield* makeFakeOpenAi({ models: [{ id: "gpt-99" }, { id: "gpt-4o" }, { id: "whisper-1" }] })
        const { all } = yield* makeCatalog({ openRouterUrl: router.baseUrl }, { openai: accessTo(vendor) })
        const models = (yield* all).filter(({ id }) => id.startsWith("openai/"))
        assert.deepStrictEqual(
          models.map(({ available, id, inputCost, provider }) => [id, provider, available, inputCost]),
          [
            ["openai/gpt-99", "openai", true, 5],
            ["openai/gpt-4o", "openai", true, 5],
            ["openai/gpt-98", "openai", false, 5]
          ]
        )
        assert.includeMembers([...(models[0]?.tags ?? [])], ["general", "vision", "tools"])
      })
  )

  it.scopedLive("ModelCatalog keeps a vendor's known models when the vendor's own list fails", () =>
    Effect.gen(function* () {
      const url = yield* serving((response) => response.writeHead(500).end())
      const openai = accessTo({ baseUrl: url, apiKey: "any" })
      const { all } = yield* makeCatalog({ openRouterUrl: null }, { openai })
      assertMatches(
        (yield* all).find(({ id }) => id === "openai/gpt-4o"),
        { available: true }
      )
    })
  )

  it.scopedLive("ModelCatalog is OpenRouter's list, available with a key, and read without it", () =>
    Effect.gen(function* () {
      const fake = yield* fakeOpenRouter
      const { all } = yield* makeCatalog({ openRouterUrl: fake.baseUrl }, { openrouter: accessTo(fake), sandbox: true })
      const models = yield* all
      const [first, second, ...others] = models.filter(({ provider }) => provider === "openrouter")
      assert.deepStrictEqual(first, {
        id: "anthropic/claude-opus-4-6",
        name: "anthropic/claude-opus-4.6",
        description: "From the list",
        provider: "openrouter",
        available: true,
        inputCost: 5,
        outputCost: 25,
        contextWindow: 200_000,
        takesTools: true,
        tags: ["general", "coding", "analysis", "creative", "vision", "tools"]
      })
      assertMatches(second, { id: "openai/gpt-4o-mini", available: true })
      assert.deepStrictEqual(others, [])
      assert.deepInclude(models, sandboxModel)
      // The list is public.
      assert.notProperty(fake.received.find(({ path }) => path === "/v1/models")?.headers, "authorization")
    })
  )

  it.scopedLive("ModelCatalog is the shipped list at once on a machine without a network, and logs that once", () =>
    Effect.gen(function* () {
      const { layer: logger, lines } = recordLogs()
      yield* Effect.gen(function* () {
        const openRouterUrl = "http://127.0.0.1:9/v1"
        const options = { openRouterUrl, retryAfter: "1 millis", loadTimeout: "1 hour" } as const
        const { all } = yield* makeCatalog(options, { sandbox: true })
        const models = yield* all
        assertMatches(
          models.find(({ id }) => id === "anthropic/claude-opus-4-6"),
          { available: false }
        )
        assert.deepStrictEqual(
          models.filter(({ available }) => available),
          [sandboxModel]
        )
        for (const _ of [1, 2, 3]) yield* Effect.zipRight(Effect.sleep("20 millis"), all)
      }).pipe(Effect.provide(logger))
      assert.lengthOf(lines, 1)
    })
  )

  it.scopedLive(
    "ModelCatalog waits for an unresponsive network at most for its load timeout, and only on the first load",
    () =>
      Effect.gen(function* () {
        const openRouterUrl = yield* serving(() => undefined)
        const { all } = yield* makeCatalog({ openRouterUrl, loadTimeout: "3 seconds", retryAfter: "0 millis" })
        yield* all
        const [second, models] = yield* Effect.timed(all)
        assert.isBelow(Duration.toSeconds(second), 3)
        assert.isAbove(models.length, 60)
      })
  )

  it.scopedLive("ModelCatalog returns a stale list while it loads a new one", () =>
    Effect.gen(function* () {
      const models: Array<unknown> = [openRouterEntry("openai/gpt-4o-mini")]
      const fake = yield* makeFakeOpenAi({ models, modelsArePublic: true })
      const { all } = yield* makeCatalog({ openRouterUrl: fake.baseUrl, freshFor: "0 millis" })
      const has = (id: string) => Effect.map(all, (list) => list.some((model) => model.id === id))
      assert.isTrue(yield* has("openai/gpt-4o-mini"))
      models.push(openRouterEntry("openai/gpt-9"))
      yield* has("openai/gpt-9").pipe(
        Effect.repeat({ until: (there) => there, schedule: Schedule.spaced("10 millis") }),
        Effect.timeout("30 seconds")
      )
    })
  )
})
