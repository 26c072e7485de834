import { runtimeAgentsDirectory } from "@berth/api/runtime/RuntimeContract"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Deferred, Effect, Layer, Option } from "effect"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { version } from "../package.json"
import { RuntimeAgents } from "./agents/RuntimeAgents.ts"
import * as BackendModelClient from "./ai/BackendModelClient.ts"
import * as AddressFile from "./http/AddressFile.ts"
import * as RuntimeHttp from "./http/RuntimeHttp.ts"
import { collectGarbage, collectWhenIdle } from "./process/IdleGarbageCollection.ts"
import { enforceMemoryLimit } from "./process/MemoryLimit.ts"
import type { RuntimeSettings } from "./RuntimeSettings.ts"
import * as RuntimeToolbox from "./skills/RuntimeToolbox.ts"
import * as BackendCalls from "./skills/BackendCalls.ts"
import * as BackendMemory from "./skills/memory/BackendMemory.ts"
import * as BackendPages from "./skills/web/BackendPages.ts"
import * as Drain from "./interaction/Drain.ts"
import { TurnExecution } from "./interaction/TurnExecution.ts"
import * as RuntimeTraces from "./telemetry/RuntimeTraces.ts"

/** Closes open connections half a second after the last turn. */
const closeConnectionsOnEnd = (server: Server) =>
  Layer.scopedDiscard(
    Effect.addFinalizer(() =>
      Effect.sync(() => server.closeAllConnections()).pipe(Effect.delay("500 millis"), Effect.forkDaemon)
    )
  )

const collectGarbageWhenIdle = Layer.scopedDiscard(
  Effect.flatMap(Drain.Drain, ({ activity }) =>
    Effect.forkScoped(collectWhenIdle({ activity, collect: collectGarbage }))
  )
)

/** Closed from the inside out: turns, listener, then dependencies. */
const layer = (settings: RuntimeSettings, lost: Deferred.Deferred<never, AddressFile.AddressFileLost>) =>
  Layer.unwrapEffect(
    Effect.map(Clock.currentTimeMillis, (startedAt) => {
      const server = createServer()
      const identity = { runtimeVersion: version, startedAt }
      const { address, backendUrl, directory, diskMb, token } = settings
      const agentsDirectory = join(directory, runtimeAgentsDirectory)
      const backend = { backendUrl: backendUrl.href, token }
      return Drain.drainOnClose.pipe(
        // The engine knows a container's address.
        Layer.provide(
          "path" in address
            ? AddressFile.layer({ ...identity, directory, pid: process.pid, lost })
            : Layer.effectDiscard(
                Effect.logInfo("Runtime listening").pipe(Effect.annotateLogs({ ...address, ...identity }))
              )
        ),
        Layer.provide(RuntimeHttp.layer({ ...identity, token, agentsDirectory, server })),
        Layer.provide(TurnExecution.Default),
        Layer.provide(collectGarbageWhenIdle),
        Layer.provide(Drain.layer),
        Layer.provide(closeConnectionsOnEnd(server)),
        Layer.provide(NodeHttpServer.layerServer(() => server, address)),
        Layer.provide(RuntimeAgents.Default),
        Layer.provide(RuntimeToolbox.layer({ agentsDirectory, diskMb })),
        Layer.provide([
          BackendModelClient.layer(backend),
          BackendMemory.layer(backend),
          BackendCalls.layer(backend),
          BackendPages.layer(backend)
        ]),
        Layer.provide(RuntimeTraces.layer(backend)),
        Layer.provide([NodeHttpClient.layer, NodeFileSystem.layer])
      )
    })
  )

const watchMemory = ({ memoryMb }: RuntimeSettings) =>
  Option.match(memoryMb, {
    onNone: () => Effect.never,
    onSome: (limitMb) => enforceMemoryLimit({ limitMb, resident: Effect.sync(() => process.memoryUsage.rss()) })
  })

/** Runs until an interruption, a lost address file or an exceeded memory limit. */
export const runRuntime = (settings: RuntimeSettings) =>
  Effect.flatMap(Deferred.make<never, AddressFile.AddressFileLost>(), (lost) =>
    Layer.launch(layer(settings, lost)).pipe(
      Effect.raceFirst(watchMemory(settings)),
      Effect.raceFirst(Deferred.await(lost))
    )
  )
