import { beforeEach } from "vitest"
import { readRecentLogs } from "./RecentLogs.ts"

// Before every test of whole programs: what they said last stands beside its failure.
beforeEach(({ onTestFailed, task }) => {
  onTestFailed(() => {
    for (const words of readRecentLogs()) process.stderr.write(`"${task.name}" failed; ${words}\n`)
  })
})
