import * as Repository from "@berth/infra/postgres/Repository"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Option, type Tracer } from "effect"

class Things extends Context.Tag("@berth/test/Things")<
  Things,
  {
    readonly find: (id: string) => Effect.Effect<string>
    readonly count: Effect.Effect<number>
    readonly touch: (id: string) => Effect.Effect<string>
  }
>() {}

const describeSpan = (span: Option.Option<Tracer.AnySpan>): string =>
  Option.match(span, {
    onNone: () => "",
    onSome: (known) => (known._tag === "Span" ? `${describeSpan(known.parent)}/${known.name}` : "")
  })
const currentSpans = Effect.map(Effect.option(Effect.currentSpan), describeSpan)

const layer = Repository.layerEffect(
  Things,
  Effect.succeed({
    find: (id: string) => Effect.map(currentSpans, (spans) => `${id} in ${spans}`),
    count: Effect.map(currentSpans, ({ length }) => length),
    touch: () => currentSpans
  }),
  { untraced: ["touch"] }
)

describe("Repository", () => {
  it.effect("layerEffect gives each member a span of its name below that of the caller, except untraced members", () =>
    Effect.gen(function* () {
      const things = yield* Things
      assert.strictEqual(yield* Effect.withSpan(things.find("a"), "request"), "a in /request/Things.find")
      assert.strictEqual(yield* things.count, "/Things.count".length)
      assert.strictEqual(yield* things.touch("a"), "")
    }).pipe(Effect.provide(layer))
  )
})
