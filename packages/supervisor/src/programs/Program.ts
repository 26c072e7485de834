import type { Duration } from "effect"

/** A bundle in `dist/` and its environment. */
export interface Program {
  readonly name: "server" | "worker"
  /** Path of the bundle. */
  readonly script: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Time to finish its work after SIGTERM. */
  readonly drain: Duration.Duration
}
