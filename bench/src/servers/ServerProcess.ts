import { Effect, type Scope } from "effect"
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { profilingEnvironment } from "../measure/Profiles.ts"

export interface StartedServer {
  readonly origin: string
  readonly pid: number
}

/** Starts a bench server as a process. The scope stops it. */
export const startServer = (
  name:
    | "BareProxy"
    | "BareServer"
    | "InstantUpstream"
    | "PacedUpstream"
    | "Upstream"
    | "better-auth/server"
    | "portkey/server",
  environment: Readonly<Record<string, string>> = {}
): Effect.Effect<StartedServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.map(profilingEnvironment, (profiling) =>
      // Bundles are in one folder.
      fork(fileURLToPath(new URL(`./${name}.mjs`, import.meta.url)), {
        env: { ...process.env, ...profiling, ...environment }
      })
    ),
    (child) =>
      Effect.sync(() => {
        if (child.connected) child.disconnect()
      })
  ).pipe(
    Effect.flatMap((child) =>
      Effect.async<StartedServer>((resume) => {
        child.once("message", (port) =>
          resume(Effect.succeed({ origin: `http://127.0.0.1:${Number(port)}`, pid: child.pid ?? 0 }))
        )
        child.once("exit", () => resume(Effect.dieMessage(`${name} did not start`)))
      })
    )
  )
