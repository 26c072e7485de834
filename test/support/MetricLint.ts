import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { text as readText } from "node:stream/consumers"
import type { RequiredTool } from "./RequiredTools.ts"

export const promtool: RequiredTool = { name: "promtool", present: spawnSync("promtool", ["--version"]).status === 0 }

const runPromtool = (text: string) =>
  Effect.promise(async () => {
    const child = spawn("promtool", ["check", "metrics"], { stdio: ["pipe", "ignore", "pipe"] })
    child.stdin.end(text)
    const exit = new Promise<number | null>((resolve) => child.once("exit", resolve))
    const faults = (await readText(child.stderr)).split("\n").filter((line) => line !== "")
    return (await exit) === 0 ? faults : ["promtool rejects the metrics", ...faults]
  })

/** Faults that `promtool` accepts: histograms without a unit, and descriptions that repeat the name. */
const findOwnFaults = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \1 (\S+)$/gm)].flatMap(([, name = "", help = "", type = ""]) =>
    name.startsWith("effect_")
      ? []
      : [
          ...(type === "histogram" && !/_(?:seconds|bytes|ratio|usd)/.test(name) ? [`${name} has no unit`] : []),
          ...(help === name ? [`${name} has no description`] : [])
        ]
  )

/**
 * Faults of metrics in the Prometheus text format. Without `promtool`, which CI requires, only the additional checks
 * run.
 */
export const lintMetrics = (text: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(promtool.present ? runPromtool(text) : Effect.succeed([]), (faults) => [...faults, ...findOwnFaults(text)])
