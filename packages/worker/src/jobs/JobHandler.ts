import type { JobKind } from "@berth/domain/jobs/JobKind"
import { JobUnsupported, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, ParseResult, Schema } from "effect"
import { BackgroundJobs } from "./BackgroundJobs.ts"

/** A kind of job with the effect that executes it; the effect must be idempotent, since jobs run at least once. */
export interface JobHandler<E, R> {
  readonly kind: Pick<JobKind<unknown, unknown>, "queue" | "name" | "retryPolicy">
  readonly handle: (job: RunningJob) => Effect.Effect<void, E | JobUnsupported, R>
}

/** Decodes the payload of a job for `handle`. An unsupported payload waits for a worker that supports it. */
export const jobHandler = <A, I, E, R>(
  kind: JobKind<A, I>,
  handle: (payload: A, job: RunningJob) => Effect.Effect<void, E, R>
): JobHandler<E, R> => ({
  kind,
  handle: (job) =>
    Schema.decodeUnknown(kind.payload, { errors: "all" })(job.payload).pipe(
      Effect.mapError(
        (error) => new JobUnsupported({ reason: `The payload is invalid for ${kind.name} (${summarizeIssues(error)})` })
      ),
      Effect.flatMap((payload) => handle(payload, job)),
      Effect.withSpan("JobHandler.handle", { attributes: { "berth.job.name": kind.name } })
    )
})

/** A handler whose work can last as long as a model's turn; it continues without a slot of the queue. */
export const backgroundJobHandler = <A, I, E, R>(
  kind: JobKind<A, I>,
  handle: (payload: A, job: RunningJob) => Effect.Effect<void, E, R>
) => jobHandler(kind, (payload, job) => Effect.flatMap(BackgroundJobs, ({ run }) => run(job.id, handle(payload, job))))

/** Paths and kinds of the issues without their messages, since a payload can contain secrets. */
const summarizeIssues = (error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)
    .map(({ _tag, path }) => `${_tag} at ${path.length === 0 ? "the root" : path.map(String).join(".")}`)
    .join(", ")
