import { ignoreDebuggerSignal } from "@berth/infra/process/DebuggerSignal"
import { assert, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { setTimeout } from "node:timers"

const opened = "Debugger listening"

/**
 * The standard error of a process that received SIGUSR1 after running the script, until its debugger opens, otherwise
 * for half a second.
 */
const signalProcess = (script: string, opens: boolean) =>
  new Promise<string>((resolve, reject) => {
    const program = `${script}; console.log("ready"); setInterval(() => undefined, 1000)`
    const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "pipe"] })
    const end = () => child.kill("SIGKILL")
    let errors = ""
    child.stderr.on("data", (chunk) => {
      errors += String(chunk)
      if (errors.includes(opened)) end()
    })
    child.stdout.once("data", () => {
      child.kill("SIGUSR1")
      if (!opens) setTimeout(end, 500)
    })
    child.once("error", reject)
    child.once("close", () => resolve(errors))
  })

it("ignoreDebuggerSignal keeps the debugger closed on SIGUSR1", async () => {
  assert.include(await signalProcess("", true), opened)
  assert.strictEqual(await signalProcess(`(${ignoreDebuggerSignal.toString()})()`, false), "")
})
