import { Effect, Schedule, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { createRequire } from "node:module"
import { freePort } from "../FreePort.ts"
import { sendHttpCall } from "../HttpCall.ts"

/** The binary itself: the launcher of Anvil's package leaves the chain running when killed. */
const binary = () => {
  const architecture = process.arch === "x64" ? "amd64" : process.arch
  const launcher = createRequire(import.meta.url).resolve("@foundry-rs/anvil/package.json")
  return createRequire(launcher).resolve(`@foundry-rs/anvil-${process.platform}-${architecture}/bin/anvil`)
}

const ended = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

const end = (child: ChildProcess) =>
  Effect.async<void>((resume) => {
    if (ended(child)) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })

/** Starts a chain with funded accounts for the scope. Returns its address. */
export const startAnvil = (
  chainId: number,
  ...options: ReadonlyArray<string>
): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const port = yield* freePort
    const args = ["--chain-id", String(chainId), "--host", "127.0.0.1", "--port", String(port), "--silent", ...options]
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const started = spawn(binary(), args, { stdio: "ignore" })
        process.once("exit", () => started.kill("SIGKILL"))
        return started
      }),
      end
    )
    const url = `http://127.0.0.1:${port}`
    const question = { jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] }
    yield* sendHttpCall(url, { method: "POST", path: "/", json: question }).pipe(
      Effect.sandbox,
      Effect.filterOrFail(
        ({ body }) => body["result"] === `0x${chainId.toString(16)}` && !ended(child),
        () => new Error("anvil does not answer")
      ),
      Effect.retry({ times: 2400, schedule: Schedule.spaced("25 millis") }),
      Effect.orDie
    )
    return url
  })

/** Starts a chain with base's chain id. */
export const startBaseAnvil = startAnvil(8453)
