/** Output of each program of a test file, by name. */
const outputs: Array<readonly [name: string, logs: () => string]> = []

/** Shows the last output of a program with each failing test. */
export const showLogsOnFailure = (name: string, logs: () => string): void => {
  outputs.push([name, logs])
}

const linesOfEach = 80

/** Recently ended programs are included. */
export const readRecentLogs = (): ReadonlyArray<string> =>
  outputs
    .slice(-4)
    .map(([name, logs]) => `Last output of ${name}:\n${logs().split("\n").slice(-linesOfEach).join("\n")}`)
