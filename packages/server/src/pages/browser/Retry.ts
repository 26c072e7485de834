import { RequestUnanswered } from "./Api.ts"

const firstWaitMs = 500
const longestWaitMs = 8_000

/** Waits longer with each attempt, but no longer than until the browser is online again. */
const waitToRetry = (attempt: number) =>
  new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer)
      removeEventListener("online", done)
      resolve()
    }
    const timer = setTimeout(done, Math.min(longestWaitMs, firstWaitMs * 2 ** attempt))
    addEventListener("online", done)
  })

/** Repeats work until the service is available; other failures reject. */
export const retryUntilAvailable = async <A>(
  work: (attempt: number) => Promise<A>,
  onUnavailable: (cause: RequestUnanswered) => void
): Promise<A> => {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work(attempt)
    } catch (cause) {
      if (!(cause instanceof RequestUnanswered)) throw cause
      onUnavailable(cause)
    }
    await waitToRetry(attempt)
  }
}
