import type { JobKind } from "@berth/domain/jobs/JobKind"
import { JobPermanentlyFailed, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, ParseResult, Schema } from "effect"

/** A kind of job with the effect that runs it; the effect must be idempotent, since jobs run at least once. */
export interface JobHandler<E, R> {
  readonly kind: Pick<JobKind<unknown, unknown>, "queue" | "name" | "retryPolicy">
  readonly handle: (job: RunningJob) => Effect.Effect<void, E | JobPermanentlyFailed, R>
}

/** Decodes the payload of a job for `handle`. A payload of another shape fails the job permanently. */
export const jobHandler = <A, I, E, R>(
  kind: JobKind<A, I>,
  handle: (payload: A, job: RunningJob) => Effect.Effect<void, E, R>
): JobHandler<E, R> => ({
  kind,
  handle: (job) =>
    Schema.decodeUnknown(kind.payload, { errors: "all" })(job.payload).pipe(
      Effect.mapError(
        (error) =>
          new JobPermanentlyFailed({ reason: `The payload is invalid for ${kind.name} (${summarizeIssues(error)})` })
      ),
      Effect.flatMap((payload) => handle(payload, job)),
      Effect.withSpan("JobHandler.handle", { attributes: { "job.name": kind.name } })
    )
})

/** Paths and kinds of the issues without their messages: a payload can hold secrets. */
const summarizeIssues = (error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)
    .map(({ _tag, path }) => `${_tag} at ${path.length === 0 ? "the root" : path.map(String).join(".")}`)
    .join(", ")
