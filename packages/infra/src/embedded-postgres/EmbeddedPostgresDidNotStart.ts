import { Data } from "effect"

/** The embedded PostgreSQL could not be brought up. `reason` is a sentence for the person who started it and holds no secret. */
export class EmbeddedPostgresDidNotStart extends Data.TaggedError("EmbeddedPostgresDidNotStart")<{
  readonly reason: string
}> {
  override get message() {
    return `The embedded PostgreSQL did not start: ${this.reason}`
  }
}

/** What went wrong, in the words of the operating system where it has some. */
export const because = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))

/** Runs one step of the start; its failure is told as "<what>: <why>". */
export const step = (what: string) => (cause: unknown) =>
  new EmbeddedPostgresDidNotStart({ reason: `${what}: ${because(cause)}` })
