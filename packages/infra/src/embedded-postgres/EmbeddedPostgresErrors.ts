import { Data } from "effect"

/** `reason` is shown to the operator and contains no secret. */
export class EmbeddedPostgresStartFailed extends Data.TaggedError("EmbeddedPostgresStartFailed")<{
  readonly reason: string
}> {
  override readonly message = `The embedded PostgreSQL did not start: ${this.reason}`
}

const describeCause = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))

/** Maps the failure of one step to "<step>: <cause>". */
export const toStartFailed = (step: string) => (cause: unknown) =>
  new EmbeddedPostgresStartFailed({ reason: `${step}: ${describeCause(cause)}` })
