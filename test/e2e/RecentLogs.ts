/** What each program of a test file has said so far, by a name for it. */
const said: Array<readonly [name: string, logs: () => string]> = []

/** Has the last words of a program shown beside each test that fails while it runs or afterwards. */
export const showLogsOnFailure = (name: string, logs: () => string): void => {
  said.push([name, logs])
}

const linesOfEach = 80

/** Programs of tests that are over have no part in a failure, but what ended a moment ago may. */
export const readRecentLogs = (): ReadonlyArray<string> =>
  said.slice(-4).map(([name, logs]) => `${name} said last:\n${logs().split("\n").slice(-linesOfEach).join("\n")}`)
