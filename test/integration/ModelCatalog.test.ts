import { ModelCatalog } from "@berth/domain/ai/models/ModelProviders"
import * as OpenRouterModelCatalog from "@berth/infra/ai/catalog/OpenRouterModelCatalog"
import * as ConfiguredModelProviders from "@berth/infra/ai/ConfiguredModelProviders"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted, type Scope, TestClock } from "effect"
import { createServer, type ServerResponse } from "node:http"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { waitForCondition } from "../fakes/models/ModelWires.ts"
import { listenLocally } from "../support/LocalServer.ts"
import { assertMatches } from "../support/Matching.ts"

const entry = (id: string, changes: object = {}) => ({
  id,
  name: `Vendor: ${id}`,
  description: "From the list",
  context_length: 200_000,
  pricing: { prompt: "0.000005", completion: "0.000025" },
  architecture: { input_modalities: ["text", "image"], output_modalities: ["text"] },
  supported_parameters: ["tools"],
  ...changes
})

const makeCatalog = (
  options: OpenRouterModelCatalog.OpenRouterModelCatalogOptions,
  providers: ConfiguredModelProviders.ModelProvidersOptions = { sandbox: null }
) =>
  Layer.build(
    OpenRouterModelCatalog.layer(options).pipe(Layer.provide(ConfiguredModelProviders.layer(providers)))
  ).pipe(Effect.flatMap((context) => Effect.provide(ModelCatalog, context)))

/** Log entries of an effect, with their annotations. */
const logging = <A, E, R>(effect: (lines: ReadonlyArray<string>) => Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ annotations, message }) => {
    lines.push(JSON.stringify([message, Object.fromEntries(annotations)]))
  })
  return effect(lines).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
}

/** A server that answers every request with a list in its own way. */
const serving = (answer: (response: ServerResponse) => void): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(listenLocally(createServer((_, response) => answer(response))), ({ origin }) => origin)

const asksOf = (received: ReadonlyArray<{ readonly path: string }>) =>
  received.filter(({ path }) => path === "/v1/models").length

describe("the live catalog", () => {
  it.scoped("asks for a list again after ten minutes and not before, once however many want to know", () =>
    Effect.gen(function* () {
      const fake = yield* makeFakeOpenAi({ models: [entry("openai/gpt-4o")], modelsArePublic: true })
      const { all } = yield* makeCatalog({ openRouterUrl: fake.baseUrl })
      const crowd = Effect.all(
        Array.from({ length: 50 }, () => all),
        { concurrency: "unbounded" }
      )
      yield* crowd
      assert.strictEqual(asksOf(fake.received), 1)
      yield* TestClock.adjust("599 seconds")
      yield* crowd
      assert.strictEqual(asksOf(fake.received), 1)
      yield* TestClock.adjust("1 second")
      yield* crowd
      yield* crowd
      yield* Effect.promise(() => Effect.runPromise(waitForCondition(() => asksOf(fake.received) === 2)))
      // Nor does anybody ask for a third, whether the second is there yet or not.
      yield* crowd
      assert.strictEqual(asksOf(fake.received), 2)
    })
  )

  it.scopedLive("leaves out what cannot be read, and says so in one line", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const fake = yield* makeFakeOpenAi({
          models: [
            entry("openai/gpt-4o"),
            entry("acme/broken", { pricing: { prompt: 5, completion: 5 } }),
            entry("acme/timeless", { context_length: null }),
            "nonsense",
            null,
            // No fault of the list's: it paints.
            entry("acme/painter", { architecture: { input_modalities: ["text"], output_modalities: ["image"] } })
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

  it.scopedLive("takes no list without an end, and lives on the shipped one meanwhile", () =>
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

  it.scopedLive("runs with a vendor's key what that vendor lists, at the price that the public list knows", () =>
    Effect.gen(function* () {
      const router = yield* makeFakeOpenAi({
        models: [entry("openai/gpt-99"), entry("openai/gpt-4o"), entry("openai/gpt-98")],
        modelsArePublic: true
      })
      const vendor = yield* makeFakeOpenAi({ models: [{ id: "gpt-99" }, { id: "gpt-4o" }, { id: "whisper-1" }] })
      const openai = { baseUrl: vendor.baseUrl, apiKey: Redacted.make(vendor.apiKey) }
      const { all } = yield* makeCatalog({ openRouterUrl: router.baseUrl }, { openai, sandbox: null })
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

  it.scopedLive("is there though a vendor's own list cannot be had", () =>
    Effect.gen(function* () {
      const url = yield* serving((response) => response.writeHead(500).end())
      const openai = { baseUrl: url, apiKey: Redacted.make("any") }
      const { all } = yield* makeCatalog({ openRouterUrl: null }, { openai, sandbox: null })
      assertMatches(
        (yield* all).find(({ id }) => id === "openai/gpt-4o"),
        { available: true }
      )
    })
  )
})
