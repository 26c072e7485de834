import { BackendApi } from "@berth/api/BackendApi"
import type { ManagedTurnEvent } from "@berth/api/instances/AgentManagerApi"
import { AgentManager, type ManagedTurnFailure } from "@berth/domain/instances/AgentManager"
import { readerFromSource } from "@berth/domain/ai/streams/ChunkReader"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { respondEvents, sendHead } from "../http/SseResponse.ts"

export const layer = group(BackendApi, "agentManager", (handlers) =>
  Effect.map(AgentManager, (manager) =>
    handlers
      .handle("deploy", ({ path }) => manager.deploy(path.agentId))
      .handle("activate", ({ path }) => Effect.map(manager.activate(path.agentId), (activated) => ({ activated })))
      .handle("failDeployment", ({ path, payload }) => manager.failDeployment(path.agentId, payload.reason))
      .handle("start", ({ path }) => manager.start(path.userId))
      .handle("stop", ({ path }) => manager.stop(path.userId))
      .handle("restart", ({ path }) => manager.restart(path.userId))
      .handle("update", ({ path }) => manager.update(path.userId))
      .handle("repair", ({ path }) => manager.repair(path.userId))
      .handle("reconfigure", ({ path }) => manager.reconfigure(path.userId))
      .handle("remove", ({ path }) => manager.remove(path.userId))
      .handle("logs", ({ path, urlParams }) => manager.logs(path.userId, urlParams))
      .handle("stats", ({ path }) => Effect.map(manager.stats(path.userId), (stats) => ({ stats })))
      .handle("measureStorage", ({ path }) => Effect.map(manager.measureStorage(path.userId), (bytes) => ({ bytes })))
      .handle("chat", ({ path, payload }) =>
        Effect.succeed(
          respondEvents<ManagedTurnEvent, ManagedTurnFailure>(
            // The head precedes the turn, so that a request without a response can be repeated.
            Effect.zipRight(sendHead, manager.chat(path.userId, payload)).pipe(
              Effect.map(readerFromSource),
              Effect.catchAll((failure) => Effect.succeed(Effect.fail(failure)))
            ),
            ({ _tag, reason }) =>
              Effect.succeed({ type: "error", kind: _tag === "TurnFailed" ? "turn" : "instance", reason })
          )
        )
      )
  )
)
