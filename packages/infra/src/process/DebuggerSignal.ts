/**
 * Ignores SIGUSR1, on which Node.js opens its debugger: a process under the same account could then read this one's
 * secrets. Call it first in a program.
 */
export const ignoreDebuggerSignal = (): void => {
  process.on("SIGUSR1", () => undefined)
}
