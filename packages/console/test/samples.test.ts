import { assert, describe, it } from "@effect/vitest"
import { appendSample, type Sample, sampleMs } from "../src/agents/samples.ts"

const start = Date.parse("2026-11-23T12:00:00Z")
const sampleAt = (at: number) => ({ at: start + at, cpu: 1, memory: 2 })
const cpusOf = (times: ReadonlyArray<number>) =>
  times.reduce<ReadonlyArray<Sample>>((samples, at) => appendSample(samples, sampleAt(at)), []).map(({ cpu }) => cpu)

describe("Samples of an instance", () => {
  it("Samples after a pause follow an empty one, so that the chart shows no line for the pause", () => {
    assert.deepStrictEqual(cpusOf([0, sampleMs, 2 * sampleMs]), [1, 1, 1])
    assert.deepStrictEqual(cpusOf([0, sampleMs, 100 * sampleMs, 101 * sampleMs]), [1, 1, null, 1, 1])
  })

  it("The newest hundred samples are kept", () => {
    assert.lengthOf(cpusOf(Array.from({ length: 150 }, (_, index) => index * sampleMs)), 100)
  })
})
