import { Effect } from "effect"

const terminateSelf = () => process.kill(process.pid, "SIGTERM")

/**
 * Sends this process SIGTERM when its parent exits, which closes their IPC channel. After a first signal nothing happens,
 * because a second one would cut the drain short.
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
      // The channel alone must not keep the process alive.
      process.channel.unref()
    } else if (process.env["BERTH_SUPERVISED"] === "1") {
      // The supervisor opens a channel, so it exited while this process was starting.
      terminateSelf()
    }
    return forget
  }),
  (forget) => Effect.sync(forget)
).pipe(Effect.asVoid)
