// A worker whose parent was killed cannot report. Without this exit, vitest retries the report in a busy loop.
const lostParent = (cause: unknown) =>
  cause instanceof Error && "code" in cause && (cause.code === "EPIPE" || cause.code === "ERR_IPC_CHANNEL_CLOSED")

process.prependListener("uncaughtException", (cause) => {
  if (lostParent(cause)) process.exit(1)
})
process.once("disconnect", () => process.exit(1))
