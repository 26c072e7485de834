import { LiveStreamRepository } from "@berth/domain/provisioning/live-streams/LiveStreamRepository"
import { LiveStreams } from "@berth/domain/provisioning/live-streams/LiveStreams"
import { Effect, Redacted, Schema } from "effect"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"
import * as App from "../support/TestApp.ts"

const decodeStatus = Schema.decodeUnknown(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** An owner with an agent that has a live stream, and the requests of its encoder and players. */
export const createOwnerWithStream = Effect.gen(function* () {
  const owner = yield* createOwnerWithAgent()
  const { id, keyHash, playbackUrl, streamKey } = yield* (yield* LiveStreams).create(owner.agent.id)
  yield* (yield* LiveStreamRepository).insert({ id, agentId: owner.agent.id, playbackUrl, keyHash })
  const key = Redacted.value(streamKey)
  return {
    ...owner,
    liveStreamId: id,
    key,
    playbackUrl,
    upload: (file: string, body: string | Uint8Array, method = "PUT") =>
      App.web({ method, path: `/live/ingest/${key}/${file}`, body }),
    play: (file: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
      App.web({ method, path: `/live/${id}/${file}`, headers }),
    status: Effect.flatMap(
      App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/live-stream`, as: owner }),
      ({ body }) => Effect.orDie(decodeStatus(body["liveStream"]))
    ),
    logs: App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/logs`, as: owner })
  }
})
