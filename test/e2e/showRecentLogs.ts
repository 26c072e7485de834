import { beforeEach } from "vitest"
import { readRecentLogs } from "./RecentLogs.ts"

// Prints the last output of the programs with a failure.
beforeEach(({ onTestFailed, task }) => {
  onTestFailed(() => {
    for (const words of readRecentLogs()) process.stderr.write(`"${task.name}" failed; ${words}\n`)
  })
})
