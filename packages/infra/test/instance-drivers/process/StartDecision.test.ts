import type { HealthProbeResult } from "@berth/infra/instance-drivers/HealthProbe"
import { decideStart } from "@berth/infra/instance-drivers/process/StartDecision"
import type { ProcessMatch } from "@berth/infra/process/ProcessIdentity"
import { assert, it } from "@effect/vitest"
import { Option } from "effect"

const wanted = { memoryMb: 256, diskMb: 256, backendUrl: "http://127.0.0.1:4000" }
const same = Option.some(wanted)
const smaller = Option.some({ ...wanted, memoryMb: 128 })
const narrower = Option.some({ ...wanted, diskMb: 128 })
const elsewhere = Option.some({ ...wanted, backendUrl: "http://127.0.0.1:4001" })

const processes: ReadonlyArray<ProcessMatch> = ["same", "gone", "different", "unknown"]
const healths: ReadonlyArray<HealthProbeResult> = ["healthy", "rejected", "unresponsive"]

it.each([
  ["same", "healthy", same, "Adopt"],
  ["same", "healthy", smaller, "Replace"],
  ["same", "healthy", narrower, "Replace"],
  ["same", "healthy", elsewhere, "Replace"],
  ["same", "healthy", Option.none(), "Replace"],
  ["same", "rejected", same, "Replace"],
  ["same", "unresponsive", same, "Replace"],
  ["unknown", "healthy", same, "Adopt"],
  ["unknown", "healthy", smaller, "Replace"],
  ["unknown", "rejected", same, "Start"],
  ["unknown", "unresponsive", same, "Start"]
] as const)(
  "decideStart for a process that is %s and %s, started with %o, is %s",
  (process, health, startedWith, decision) => {
    assert.strictEqual(decideStart({ process, health, startedWith }, wanted)._tag, decision)
  }
)

it("decideStart never replaces another process", () => {
  for (const process of ["gone", "different"] as const)
    for (const health of healths)
      for (const startedWith of [same, smaller, Option.none()])
        assert.strictEqual(decideStart({ process, health, startedWith }, wanted)._tag, "Start")
})

it("decideStart adopts only an instance that accepts the token", () => {
  for (const process of processes)
    for (const health of ["rejected", "unresponsive"] as const)
      assert.notStrictEqual(decideStart({ process, health, startedWith: same }, wanted)._tag, "Adopt")
})
