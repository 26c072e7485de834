import { beforeEach } from "vitest"
import { lastWords } from "./LastWords.ts"

// Before every test of whole programs: what they said last stands beside its failure.
beforeEach(({ onTestFailed, task }) => {
  onTestFailed(() => {
    for (const words of lastWords()) process.stderr.write(`"${task.name}" failed; ${words}\n`)
  })
})
