// `TestSummary.mjs failed RESULTS` prints the files of vitest's JSON results that failed, unless they are more than three.
// `TestSummary.mjs summary EXIT_CODE RESULTS [REPEATED]`, with the exit code of the last run, prints "N passed, N failed".
// Files that fail to load, errors outside tests and missing results count as failures. The results of REPEATED replace those
// of the same files, and a test that passed only there is listed as unstable.
import { existsSync, readFileSync } from "node:fs"

const repeatable = 3
const [command, ...args] = process.argv.slice(2)

const filesOf = (path) =>
  path !== undefined && existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).testResults : []

const testsOf = (files, status) =>
  files.flatMap(({ assertionResults, name }) =>
    assertionResults.filter((test) => test.status === status).map((test) => `${name}: ${test.fullName}`)
  )

const failedToLoad = (files) =>
  files.filter(
    ({ assertionResults, status }) => status === "failed" && !assertionResults.some((test) => test.status === "failed")
  )

const printFailed = (path) => {
  const failed = filesOf(path).filter(({ status }) => status === "failed")
  if (failed.length <= repeatable) for (const { name } of failed) console.log(name)
}

const printSummary = (exitCode, path, repeatedPath) => {
  const [first, repeated] = [filesOf(path), filesOf(repeatedPath)]
  const again = new Set(repeated.map(({ name }) => name))
  const files = [...first.filter(({ name }) => !again.has(name)), ...repeated]

  const failedTests = testsOf(files, "failed")
  const unstable = testsOf(first, "failed").filter((test) => !failedTests.includes(test))
  for (const test of unstable) console.log(`Unstable: failed, then passed when its file ran alone: ${test}`)

  const passed = testsOf(files, "passed").length
  const failed = failedTests.length + failedToLoad(files).length
  const unexplained = failed === 0 && (exitCode !== "0" || passed === 0) ? 1 : 0
  const skipped = testsOf(files, "skipped").length + testsOf(files, "pending").length
  if (skipped > 0) console.log(`${skipped} skipped`)
  console.log(`${passed} passed, ${failed + unexplained} failed`)
  process.exit(failed + unexplained === 0 ? 0 : 1)
}

if (command === "failed") printFailed(...args)
else printSummary(...args)
