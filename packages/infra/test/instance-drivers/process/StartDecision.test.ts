import {
  decideStart,
  type HealthProbeResult,
  type ProcessMatch
} from "@berth/infra/instance-drivers/process/StartDecision"
import { expect, it } from "@effect/vitest"
import { Option } from "effect"

const wanted = { memoryMb: 256, diskMb: 256, backendUrl: "http://127.0.0.1:4000" }
const same = Option.some(wanted)
const smaller = Option.some({ ...wanted, memoryMb: 128 })
const narrower = Option.some({ ...wanted, diskMb: 128 })
const elsewhere = Option.some({ ...wanted, backendUrl: "http://127.0.0.1:4001" })

const processes: ReadonlyArray<ProcessMatch> = ["ours", "gone", "strange", "unknown"]
const healths: ReadonlyArray<HealthProbeResult> = ["healthy", "refuses", "silent"]

it.each([
  ["ours", "healthy", same, "Adopt"],
  ["ours", "healthy", smaller, "Replace"],
  ["ours", "healthy", narrower, "Replace"],
  ["ours", "healthy", elsewhere, "Replace"],
  ["ours", "healthy", Option.none(), "Replace"],
  ["ours", "refuses", same, "Replace"],
  ["ours", "silent", same, "Replace"],
  ["unknown", "healthy", same, "Adopt"],
  ["unknown", "healthy", smaller, "Replace"],
  ["unknown", "refuses", same, "Start"],
  ["unknown", "silent", same, "Start"]
] as const)("a process that is %s and %s, started with %o: %s", (process, health, startedWith, fate) => {
  expect(decideStart({ process, health, startedWith }, wanted)._tag).toBe(fate)
})

it("never touches a process that is not ours, whatever answers in its place", () => {
  for (const process of ["gone", "strange"] as const)
    for (const health of healths)
      for (const startedWith of [same, smaller, Option.none()])
        expect(decideStart({ process, health, startedWith }, wanted)._tag).toBe("Start")
})

it("adopts nothing that does not answer to the token", () => {
  for (const process of processes)
    for (const health of ["refuses", "silent"] as const)
      expect(decideStart({ process, health, startedWith: same }, wanted)._tag).not.toBe("Adopt")
})
