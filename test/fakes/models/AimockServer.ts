import { LLMock } from "@copilotkit/aimock"
import { Effect } from "effect"

/** A server by others that speaks like several vendors, to check the stand-ins' idea of them against. */
export const aimockServer = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = new LLMock({ port: 0, logLevel: "silent" })
    await server.start()
    return server
  }),
  (server) => Effect.promise(() => server.stop())
)
