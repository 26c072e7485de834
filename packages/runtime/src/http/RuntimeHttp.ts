import { RuntimeConfiguration, RuntimePaths } from "@berth/api/runtime/RuntimeContract"
import { RuntimeErrors } from "@berth/api/runtime/RuntimeErrors"
import { Turn } from "@berth/domain/instances/AgentRuntime"
import { scopedDirectly } from "@berth/domain/shared/HotPath"
import { Cause, Context, Effect, FiberId, Layer, Option, type Redacted, Runtime } from "effect"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { RuntimeAgents } from "../agents/RuntimeAgents.ts"
import { TurnExecution } from "../interaction/TurnExecution.ts"
import { readProcessStats } from "../process/ProcessStats.ts"
import { exceedsBodyLimit, makeBodyReader } from "./JsonBody.ts"
import { withRequestSpan } from "./RequestSpan.ts"
import { RequestRejected } from "./RuntimeErrorResponses.ts"
import { reportHealth, type RuntimeIdentity, reportStorage } from "./RuntimeReports.ts"
import { respond, respondRejection, streamTurn } from "./RuntimeResponses.ts"
import { makeTokenCheck } from "./TokenGuard.ts"

/** Responds to a request, or fails before responding. */
type Handler = (request: IncomingMessage, response: ServerResponse) => Effect.Effect<void, RequestRejected>

const report =
  (body: Effect.Effect<object>): Handler =>
  (_, response) =>
    Effect.map(body, (figures) => respond(response, 200, figures))

const readConfiguration = makeBodyReader(RuntimeConfiguration)
const readTurn = makeBodyReader(Turn)

/**
 * Listener of the runtime, for the backend only. Hot path: a router and its middleware would take more work than a
 * turn.
 */
export const layer = ({
  agentsDirectory,
  server,
  token,
  ...identity
}: RuntimeIdentity & {
  readonly token: Redacted.Redacted
  readonly agentsDirectory: string
  readonly server: Server
}) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const agents = yield* RuntimeAgents
      const { begin } = yield* TurnExecution
      const isAuthorized = makeTokenCheck(token)

      const configure: Handler = (request, response) =>
        Effect.flatMap(readConfiguration(request), (configuration) =>
          Effect.zipRight(
            agents.replace(configuration.agents),
            Effect.logInfo("Agents configured").pipe(Effect.annotateLogs({ agents: configuration.agents.length }))
          )
        ).pipe(Effect.map(() => void response.writeHead(204).end()))

      const answerTurn: Handler = (request, response) =>
        Effect.flatMap(readTurn(request), (turn) =>
          Effect.catchTags(begin(turn), {
            AgentNotHosted: () => new RequestRejected({ rejection: RuntimeErrors.agentNotFound }),
            TurnLimitReached: () => new RequestRejected({ rejection: RuntimeErrors.busy }),
            RuntimeStopping: () => new RequestRejected({ rejection: RuntimeErrors.stopping })
          })
        ).pipe(
          Effect.flatMap((run) => streamTurn(run, response)),
          scopedDirectly
        )

      const routes = new Map<string, { readonly handler: Handler; readonly isTraced: boolean }>([
        [
          `GET ${RuntimePaths.health}`,
          {
            handler: report(Effect.provideService(reportHealth(identity), RuntimeAgents, agents)),
            isTraced: false
          }
        ],
        [`GET ${RuntimePaths.storage}`, { handler: report(reportStorage(agentsDirectory)), isTraced: true }],
        [`GET ${RuntimePaths.stats}`, { handler: report(readProcessStats), isTraced: false }],
        [`PUT ${RuntimePaths.configuration}`, { handler: configure, isTraced: true }],
        [`POST ${RuntimePaths.turns}`, { handler: answerTurn, isTraced: true }]
      ])

      const handleFailure = (response: ServerResponse, cause: Cause.Cause<RequestRejected>) => {
        const rejected = Cause.failureOption(cause)
        if (Option.isSome(rejected)) return Effect.sync(() => respondRejection(response, rejected.value.rejection))
        if (Cause.isInterruptedOnly(cause)) return Effect.sync(() => response.destroy())
        return Effect.zipRight(
          Effect.logError("Request failed unexpectedly", cause),
          Effect.sync(() => respondRejection(response, RuntimeErrors.internal))
        )
      }

      const { fiberRefs, runtimeFlags } = yield* Effect.runtime<never>()
      // A request requires no services, since its handler has them.
      const runFork = Runtime.runFork(Runtime.make({ context: Context.empty(), fiberRefs, runtimeFlags }))
      const onRequest = (request: IncomingMessage, response: ServerResponse) => {
        if (!isAuthorized(request.headers.authorization)) return respondRejection(response, RuntimeErrors.tokenInvalid)
        const path = request.url?.split("?", 1)[0] ?? ""
        const route = routes.get(`${request.method} ${path}`)
        if (route === undefined) return respondRejection(response, RuntimeErrors.routeNotFound)
        if (exceedsBodyLimit(request)) return respondRejection(response, RuntimeErrors.bodyTooLarge)
        const handled = Effect.catchAllCause(route.handler(request, response), (cause) =>
          handleFailure(response, cause)
        )
        const fiber = runFork(route.isTraced ? withRequestSpan(request, response, path, handled) : handled)
        response.on("close", () => {
          if (!response.writableEnded) fiber.unsafeInterruptAsFork(FiberId.none)
        })
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => server.on("request", onRequest)),
        () => Effect.sync(() => server.off("request", onRequest))
      )
    })
  )
