// Prints "N passed, N failed" from vitest's JSON results. Files that fail to load, errors outside tests and missing results
// count as failures.
import { existsSync, readFileSync } from "node:fs"

const [file, exitCode] = process.argv.slice(2)
const results = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined

const passed = results?.numPassedTests ?? 0
const failedTests = results?.numFailedTests ?? 0
const failedFiles = (results?.testResults ?? []).filter(
  ({ assertionResults, status }) => status === "failed" && !assertionResults.some((test) => test.status === "failed")
).length
const failed = failedTests + failedFiles
const unexplained = failed === 0 && (exitCode !== "0" || passed === 0) ? 1 : 0

const skipped = results?.numPendingTests ?? 0
if (skipped > 0) console.log(`${skipped} skipped`)
console.log(`${passed} passed, ${failed + unexplained} failed`)
process.exit(failed + unexplained === 0 ? 0 : 1)
