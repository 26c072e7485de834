import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Deferred, Effect, Layer, Option } from "effect"
import { createServer, type Server } from "node:http"
import { version } from "../package.json"
import { Agents } from "./agents/Agents.ts"
import * as BackendModelCalls from "./ai/BackendModelCalls.ts"
import * as Address from "./cell/Address.ts"
import * as CellHttp from "./cell/CellHttp.ts"
import { memoryWatch } from "./cell/MemoryWatch.ts"
import type { Settings } from "./cell/Settings.ts"
import * as AllTools from "./skills/AllTools.ts"
import * as BackendMemory from "./skills/memory/BackendMemory.ts"
import * as NodeInternet from "./skills/web/NodeInternet.ts"
import * as Drain from "./interaction/Drain.ts"
import { Turns } from "./interaction/Turns.ts"
import * as Traces from "./telemetry/Traces.ts"

/** A connection that is still open half a second after the last turn belongs to somebody who will not end it. */
const hangUp = (server: Server) =>
  Layer.scopedDiscard(
    Effect.addFinalizer(() =>
      Effect.sync(() => server.closeAllConnections()).pipe(Effect.delay("500 millis"), Effect.forkDaemon)
    )
  )

/** Everything in a cell, in the order in which it must end: the turns, then the listener, then what they stand on. */
const layer = (settings: Settings, lost: Deferred.Deferred<never, Address.AddressIsLost>) =>
  Layer.unwrapEffect(
    Effect.map(Clock.currentTimeMillis, (startedAt) => {
      const server = createServer()
      const identity = { runtimeVersion: version, startedAt }
      const { backendUrl, directory, diskMb, otlpEndpoint, serviceName, token } = settings
      const backend = { backendUrl: backendUrl.href, token }
      return Drain.atEnd.pipe(
        Layer.provide(Address.layer({ ...identity, directory, pid: process.pid, lost })),
        Layer.provide(CellHttp.layer({ ...identity, token })),
        Layer.provide(Turns.Default),
        Layer.provide(Drain.layer),
        Layer.provide(hangUp(server)),
        Layer.provide(NodeHttpServer.layerServer(() => server, { host: "127.0.0.1", port: 0 })),
        Layer.provide(Agents.Default),
        Layer.provide(AllTools.layer({ directory, diskMb })),
        Layer.provide([BackendModelCalls.layer(backend), BackendMemory.layer(backend), NodeInternet.layer]),
        Layer.provide(Traces.layer({ endpoint: otlpEndpoint, serviceName, serviceVersion: version })),
        Layer.provide([NodeHttpClient.layer, NodeFileSystem.layer])
      )
    })
  )

const watch = ({ memoryMb }: Settings) =>
  Option.match(memoryMb, {
    onNone: () => Effect.never,
    onSome: (limitMb) => memoryWatch({ limitMb, resident: Effect.sync(() => process.memoryUsage.rss()) })
  })

/** Runs the cell until it is interrupted, or until it must not go on. */
export const run = (settings: Settings) =>
  Effect.flatMap(Deferred.make<never, Address.AddressIsLost>(), (lost) =>
    Layer.launch(layer(settings, lost)).pipe(Effect.raceFirst(watch(settings)), Effect.raceFirst(Deferred.await(lost)))
  )
