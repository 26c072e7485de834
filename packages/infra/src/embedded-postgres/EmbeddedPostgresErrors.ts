import { Data } from "effect"

/** The embedded PostgreSQL could not be brought up. `reason` is a sentence for the person who started it and holds no secret. */
export class EmbeddedPostgresStartFailed extends Data.TaggedError("EmbeddedPostgresStartFailed")<{
  readonly reason: string
}> {
  override get message() {
    return `The embedded PostgreSQL did not start: ${this.reason}`
  }
}

/** What went wrong, in the words of the operating system where it has some. */
export const describeCause = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))

/** Runs one step of the start; its failure is told as "<what>: <why>". */
export const toStartFailed = (what: string) => (cause: unknown) =>
  new EmbeddedPostgresStartFailed({ reason: `${what}: ${describeCause(cause)}` })
