import type { Duration } from "effect"

/** One of the bundles in dist/ and how to run it. */
export interface Program {
  readonly name: "server" | "worker"
  /** Path of the bundle. */
  readonly script: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** How long it may take to finish its work when it is asked to end. */
  readonly drain: Duration.Duration
}
