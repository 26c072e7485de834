import { renderPrometheus } from "@berth/infra/telemetry/PrometheusFormat"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck, Metric, MetricBoundaries } from "effect"

/** Metrics are global, so each test uses a new name. */
let names = 0
const fresh = (prefix: string) => `${prefix}_${++names}_test`

/** The lines of one family, in order. */
const linesOf = (name: string) =>
  renderPrometheus()
    .split("\n")
    .filter((line) => line.split(/[ {]/).some((word) => word.startsWith(name)))

describe("renderPrometheus", () => {
  it.effect("renderPrometheus writes a counter with its help and type, once for all its labels", () =>
    Effect.gen(function* () {
      const name = fresh("counted")
      const counter = Metric.counter(name, { description: "What was counted", incremental: true })
      yield* Metric.incrementBy(Metric.tagged(counter, "color", "red"), 2)
      yield* Metric.increment(Metric.tagged(counter, "color", "blue"))
      const [help, type, ...samples] = linesOf(name)
      const written = `${name}_total`
      assert.deepStrictEqual([help, type], [`# HELP ${written} What was counted`, `# TYPE ${written} counter`])
      assert.deepStrictEqual(samples.toSorted(), [`${written}{color="blue"} 1`, `${written}{color="red"} 2`])
    })
  )

  it.effect("renderPrometheus writes a counter that can fall as a gauge", () =>
    Effect.gen(function* () {
      const name = fresh("falling")
      yield* Metric.increment(Metric.counter(name))
      assert.deepStrictEqual(linesOf(name), [`# HELP ${name} ${name}`, `# TYPE ${name} gauge`, `${name} 1`])
    })
  )

  it.effect("renderPrometheus writes a gauge, with its name as default description", () =>
    Effect.gen(function* () {
      const name = fresh("gauged")
      const gauge = Metric.gauge(name)
      yield* Metric.set(gauge, 5)
      yield* Metric.set(gauge, -1.5)
      assert.deepStrictEqual(linesOf(name), [`# HELP ${name} ${name}`, `# TYPE ${name} gauge`, `${name} -1.5`])
    })
  )

  it.effect("renderPrometheus writes a histogram with cumulative buckets up to infinity", () =>
    Effect.gen(function* () {
      const name = fresh("measured")
      const histogram = Metric.histogram(name, MetricBoundaries.fromIterable([0.1, 1]), "How long")
      const tagged = Metric.tagged(histogram, "route", "/")
      for (const seconds of [0.05, 0.1, 0.5, 7]) yield* Metric.update(tagged, seconds)
      assert.deepStrictEqual(linesOf(name), [
        `# HELP ${name} How long`,
        `# TYPE ${name} histogram`,
        `${name}_bucket{route="/",le="0.1"} 2`,
        `${name}_bucket{route="/",le="1"} 3`,
        `${name}_bucket{route="/",le="+Inf"} 4`,
        `${name}_sum{route="/"} 7.65`,
        `${name}_count{route="/"} 4`
      ])
    })
  )

  const hostile = FastCheck.string({ unit: FastCheck.constantFrom('"', "\\", "\n", "n", "}", "é", " ") })

  it.effect.prop("renderPrometheus escapes labels, so that every sample is one line", [hostile], ([value]) =>
    Effect.gen(function* () {
      const name = fresh("labels")
      yield* Metric.increment(Metric.tagged(Metric.counter(name), "label", value))
      const samples = linesOf(name).filter((line) => !line.startsWith("#"))
      assert.lengthOf(samples, 1)
      const written = /^\w+\{label="((?:[^"\\\n]|\\["\\n])*)"\} 1$/.exec(samples[0] ?? "")?.[1]
      const unescaped = written?.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped))
      assert.strictEqual(unescaped, value)
    })
  )

  it.effect("renderPrometheus writes valid lines only", () =>
    Effect.gen(function* () {
      yield* Metric.increment(Metric.counter(fresh("any")))
      yield* Metric.update(Metric.frequency(fresh("words")), "a")
      yield* Metric.update(
        Metric.summary({ name: fresh("summed"), maxAge: "1 hour", maxSize: 10, error: 0.1, quantiles: [0.5] }),
        1
      )
      const text = renderPrometheus()
      assert.isTrue(text.endsWith("\n"))
      for (const line of text.slice(0, -1).split("\n"))
        assert.match(
          line,
          /^(# (HELP|TYPE) [a-zA-Z_:][\w:]* .+|[a-zA-Z_:][\w:]*(\{.*\})? (-?[\d.e+-]+|\+Inf|-Inf|NaN))$/
        )
    })
  )
})
