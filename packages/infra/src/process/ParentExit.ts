import { Effect } from "effect"

const terminateSelf = () => process.kill(process.pid, "SIGTERM")

/**
 * Sends SIGTERM to this process when its parent exits, which closes their IPC channel. No effect after a first signal,
 * since a second one would shorten the drain.
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
      // The channel must not keep the process alive.
      process.channel.unref()
    } else if (process.env["BERTH_SUPERVISED"] === "1") {
      // The supervisor opens a channel, so it exited during the start of this process.
      terminateSelf()
    }
    return forget
  }),
  (forget) => Effect.sync(forget)
).pipe(Effect.asVoid)
