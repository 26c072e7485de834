// A worker whose run was killed has nobody left to report to. Reporting that is an error as well, which vitest would try
// to report, for ever and at full speed.
const lostParent = (cause: unknown) =>
  cause instanceof Error && "code" in cause && (cause.code === "EPIPE" || cause.code === "ERR_IPC_CHANNEL_CLOSED")

process.prependListener("uncaughtException", (cause) => {
  if (lostParent(cause)) process.exit(1)
})
process.once("disconnect", () => process.exit(1))
