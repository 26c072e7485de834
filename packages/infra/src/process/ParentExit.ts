import { Effect, Layer } from "effect"

const terminateSelf = () => process.kill(process.pid, "SIGTERM")

/**
 * Ends this process, as SIGTERM does, when the process that started it dies. The parent's death shows in the IPC channel
 * that it opened; without one nothing happens. A parent that asked for the end first and died then changes nothing,
 * because a second signal would cut the drain short.
 */
export const endWithParent = Effect.acquireRelease(
  Effect.sync(() => {
    const forget = () => {
      process.removeListener("SIGTERM", forget)
      process.removeListener("SIGINT", forget)
      process.removeListener("disconnect", terminateSelf)
    }
    if (process.channel !== undefined) {
      process.on("SIGTERM", forget)
      process.on("SIGINT", forget)
      process.once("disconnect", terminateSelf)
      // Waiting for the parent's death alone is no reason to go on running.
      process.channel.unref()
    } else if (process.env["BERTH_SUPERVISED"] === "1") {
      // A channel was promised, so the parent died while this process was starting.
      terminateSelf()
    }
    return forget
  }),
  (forget) => Effect.sync(forget)
).pipe(Effect.asVoid)

/** `endWithParent` for as long as the program's layers live. Provide it outermost. */
export const layer: Layer.Layer<never> = Layer.scopedDiscard(endWithParent)
