import { describeExit, findExitMessage } from "@berth/infra/instance-drivers/ProcessExit"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

const heap = `{"level":"info","timestamp":"t","message":"The runtime listens","port":1}

<--- Last few GCs --->
[1:0x1] 900 ms: Mark-sweep 159.9 (161.0) -> 159.8 (161.2) MB

FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
 1: 0xb9c1f0 node::Abort() [node]
 2: 0xaa27ee  [node]
`

const thrown = `file:///b/runtime.mjs:1
throw new Error("broken")
      ^

Error: broken
    at file:///b/runtime.mjs:1:7
    at ModuleJob.run (node:internal/modules/esm/module_job:263:25)

Node.js v20.20.2
`

describe("findExitMessage", () => {
  it.each([
    ["", ""],
    ["\n \n", ""],
    [heap, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"],
    [thrown, "Error: broken"],
    ["something\nelse\n", "else"],
    [`{"level":"info","message":"The runtime listens"}`, ""],
    [
      `{"level":"fatal","message":"The runtime gave up","cause":"MemoryLimitExceeded: too much\\n    at x"}`,
      "The runtime gave up: MemoryLimitExceeded: too much"
    ],
    [`{"level":"error","message":"A turn died"}\n{"level":"info","message":"The runtime ended"}`, "A turn died"]
  ])("findExitMessage maps %j to %j", (log, words) => {
    assert.strictEqual(findExitMessage(log), words)
  })

  it.prop(
    "findExitMessage returns a short message for any output",
    [FastCheck.string({ unit: "binary", maxLength: 2000 })],
    ([log]) => {
      assert.isAtMost(findExitMessage(log).length, 300)
    }
  )
})

it("describeExit states the exit code or signal and the last log line", () => {
  assert.strictEqual(
    describeExit(Option.some({ code: 1, signal: null }), "Error: broken"),
    "exit code 1; its last log line: Error: broken"
  )
  assert.strictEqual(describeExit(Option.some({ code: null, signal: "SIGKILL" }), ""), "signal SIGKILL")
  assert.strictEqual(describeExit(Option.none(), ""), "the process is gone")
})
