import { ignoreDebuggerSignal } from "@berth/infra/process/DebuggerSignal"
import { assert, it } from "@effect/vitest"
import { spawn } from "node:child_process"

/** The standard error of a process that received SIGUSR1 after running the script. */
const signalProcess = (script: string) =>
  new Promise<string>((resolve, reject) => {
    const program = `${script}; console.log("ready"); setTimeout(() => undefined, 500)`
    const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "pipe"] })
    let errors = ""
    child.stderr.on("data", (chunk) => (errors += String(chunk)))
    child.stdout.once("data", () => child.kill("SIGUSR1"))
    child.once("error", reject)
    child.once("close", () => resolve(errors))
  })

it("ignoreDebuggerSignal keeps the debugger closed on SIGUSR1", async () => {
  assert.include(await signalProcess(""), "Debugger listening")
  assert.strictEqual(await signalProcess(`(${ignoreDebuggerSignal.toString()})()`), "")
})
