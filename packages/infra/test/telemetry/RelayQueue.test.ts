import { makeRelayQueue } from "@berth/infra/telemetry/RelayQueue"
import { assert, it } from "@effect/vitest"

it("A full relay queue loses the newest spans of the owner with the most, and none of others", () => {
  const queue = makeRelayQueue<string, string>(4)
  for (let n = 1; n <= 100; n++) queue.add("loud", `loud ${n}`)
  assert.strictEqual(queue.size(), 4)
  queue.add("quiet", "quiet 1")
  queue.add("quiet", "quiet 2")
  for (let n = 1; n <= 100; n++) queue.add("loud", `late ${n}`)
  assert.deepStrictEqual(queue.take(10), ["loud 1", "quiet 1", "loud 2", "quiet 2"])
  assert.strictEqual(queue.size(), 0)
})

it("A relay queue gives spans of its owners in turn, each owner's oldest first", () => {
  const queue = makeRelayQueue<string, string>(10)
  for (const span of ["a 1", "a 2", "a 3", "b 1", "c 1"]) queue.add(span.slice(0, 1), span)
  assert.deepStrictEqual(queue.take(2), ["a 1", "b 1"])
  assert.deepStrictEqual(queue.take(10), ["a 2", "c 1", "a 3"])
  assert.deepStrictEqual(queue.take(10), [])
})
