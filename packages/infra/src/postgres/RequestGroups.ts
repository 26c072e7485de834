import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import { SqlError } from "@effect/sql/SqlError"
import { Cause, Context, Effect, Exit, Option, Runtime } from "effect"
import { isInTransaction } from "./DirectQueries.ts"
import { readSqlErrorCode } from "./SqlErrors.ts"

/** Maximum requests of a statement. */
const maximumGroup = 100

interface Identified {
  readonly id: string
}

/** Executes requests in one statement. Returns the answers by id; a request without an answer is missing. */
type ExecuteGroup<Request, Answer> = (
  requests: ReadonlyArray<Request>
) => Effect.Effect<ReadonlyArray<readonly [id: string, answer: Answer]>>

/** Executes a request in its own statement. */
export const executeAlone =
  <Request, Answer>(executeGroup: ExecuteGroup<Request, Answer>) =>
  (request: Request): Effect.Effect<Option.Option<Answer>> =>
    Effect.map(executeGroup([request]), ([answered]) =>
      Option.map(Option.fromNullable(answered), ([, answer]) => answer)
    )

interface Waiting<Request, Answer> {
  readonly request: Request
  readonly resume: (answer: Effect.Effect<Option.Option<Answer>>) => void
}

/**
 * Groups the requests of concurrent callers: those that arrive in one turn of the event loop, or while a statement runs,
 * share the next statement, which starts after them. The statements of all kinds run one at a time, in turn, so they
 * must not wait for locks.
 * Requests of a transaction, or of a trace that is exported, have their own statement.
 */
export const makeRequestGroups = Effect.map(Effect.runtime<never>(), (runtime) => {
  // The statement of several traces is in none.
  const unexported = Runtime.provideService(runtime, SpanExportEnabled, false)
  const starts: Array<() => boolean> = []
  let isRunning = false

  /** The kind that starts comes last in the next turn. */
  const startNext = () => {
    const index = starts.findIndex((start) => start())
    isRunning = index >= 0
    if (isRunning) starts.push(...starts.splice(index, 1))
  }

  return <Request extends Identified, Answer>(executeGroup: ExecuteGroup<Request, Answer>) => {
    const waiting: Array<Waiting<Request, Answer>> = []
    starts.push(() => {
      const group = waiting.splice(0, maximumGroup)
      if (group.length === 0) return false
      const execution = Effect.suspend(() => executeGroup(group.map(({ request }) => request)))
      Runtime.runCallback(unexported)(execution, {
        onExit: (exit) => {
          if (Exit.isSuccess(exit)) {
            const answers = new Map(exit.value)
            for (const { request, resume } of group)
              resume(Effect.succeed(Option.fromNullable(answers.get(request.id))))
          } else for (const { resume } of group) resume(Effect.failCause(exit.cause))
          startNext()
        }
      })
      return true
    })

    return (request: Request): Effect.Effect<Option.Option<Answer>> =>
      Effect.withFiberRuntime(({ currentContext }) =>
        Context.get(currentContext, SpanExportEnabled) || isInTransaction(currentContext)
          ? executeAlone(executeGroup)(request)
          : Effect.async((resume) => {
              waiting.push({ request, resume })
              if (isRunning) return
              isRunning = true
              // Other requests of this turn of the event loop share the statement.
              setImmediate(startNext)
            })
      )
  }
})

export type GroupRequests = Effect.Effect.Success<typeof makeRequestGroups>

/** Leaves the requests of a failed group without answers. */
export const skipFailedGroup =
  <Request, Answer>(executeGroup: ExecuteGroup<Request, Answer>): ExecuteGroup<Request, Answer> =>
  (requests) =>
    Effect.catchAllCause(executeGroup(requests), (cause) => {
      const error = Cause.squash(cause)
      return Effect.logWarning("Grouped statement failed, its requests are executed separately").pipe(
        // The error's detail can contain a row.
        Effect.annotateLogs({ code: readSqlErrorCode(error instanceof SqlError ? error.cause : error) ?? "none" }),
        Effect.as([])
      )
    })
