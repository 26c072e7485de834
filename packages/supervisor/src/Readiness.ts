import { Effect, Schedule } from "effect"
import { get } from "node:http"

const isReady = (url: string): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const request = get(url, { timeout: 2000, agent: false }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode === 200))
    })
    request.once("timeout", () => request.destroy())
    request.once("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => request.destroy())
  })

/** Waits until the URL responds with 200. */
export const waitUntilReady = (url: string): Effect.Effect<void> =>
  isReady(url).pipe(
    Effect.repeat({ until: (it) => it, schedule: Schedule.spaced("100 millis") }),
    Effect.asVoid,
    Effect.withSpan("Readiness.wait")
  )
