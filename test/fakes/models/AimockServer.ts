import { LLMock } from "@copilotkit/aimock"
import { Effect } from "effect"

/** An independent mock of several vendors, which the fakes are compared to. */
export const aimockServer = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = new LLMock({ port: 0, logLevel: "silent" })
    await server.start()
    return server
  }),
  (server) => Effect.promise(() => server.stop())
)
