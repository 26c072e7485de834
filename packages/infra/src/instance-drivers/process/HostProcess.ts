import { Effect, Option, Predicate } from "effect"
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { readFileSync } from "node:fs"
import type { ProcessMatch } from "./StartDecision.ts"

const acceptsSignals = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return Predicate.hasProperty(cause, "code") && cause.code === "EPERM"
  }
}

/** The fields of `/proc/<pid>/stat` after the command, which may hold blanks and parentheses itself. Null where there are none. */
const statFields = (pid: number): ReadonlyArray<string> | null => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? null
  } catch {
    return null
  }
}

/** Runs at this moment. A process that its parent has not collected yet has its number still, but runs no more. */
export const isRunning = (pid: number): boolean => pid > 0 && acceptsSignals(pid) && statFields(pid)?.[0] !== "Z"

const bootId = Effect.promise(() =>
  readFile("/proc/sys/kernel/random/boot_id", "utf8").then(
    (text) => text.trim(),
    () => "unknown boot"
  )
)

const psStart = (pid: number): Effect.Effect<string> =>
  Effect.async((resume) => {
    execFile("ps", ["-o", "lstart=", "-p", String(pid)], { env: { LC_ALL: "C" } }, (error, stdout) => {
      resume(Effect.succeed(error === null ? stdout.trim() : ""))
    })
  })

/**
 * When a process began, in this system's own words: together with its number it names a process once and for all. None
 * when it is gone, or when the system does not tell.
 */
export const readStartMark = (pid: number): Effect.Effect<Option.Option<string>> =>
  Effect.gen(function* () {
    const fields = statFields(pid)
    const start = fields === null ? yield* psStart(pid) : `${yield* bootId} ${fields[19] ?? ""}`
    return start === "" ? Option.none() : Option.some(start)
  })

/** The parts of a process's command line; empty when it cannot be read. */
export const readCommandLine = (pid: number): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(() =>
    readFile(`/proc/${pid}/cmdline`, "utf8").then(
      (text) => text.split("\0"),
      () => []
    )
  )

/** Is the process with this number still the one that began then? */
export const matchProcess = (pid: number, start: Option.Option<string>): Effect.Effect<ProcessMatch> =>
  isRunning(pid)
    ? Effect.map(readStartMark(pid), (now) =>
        Option.match(
          Option.zipWith(start, now, (one, other) => one === other),
          {
            onNone: () => "unknown",
            onSome: (same) => (same ? "ours" : "strange")
          }
        )
      )
    : Effect.succeed("gone")

/** False when there is nobody to receive it. */
export const sendSignal = (pid: number, name: "SIGTERM" | "SIGKILL"): boolean => {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
