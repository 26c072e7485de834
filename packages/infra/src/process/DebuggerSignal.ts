/**
 * Ignores SIGUSR1, which opens the debugger of Node.js: another process of the same account could then read this
 * process's secrets. Must be the first call of a program.
 */
export const ignoreDebuggerSignal = (): void => {
  process.on("SIGUSR1", () => undefined)
}
