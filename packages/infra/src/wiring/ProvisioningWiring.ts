import * as BuiltInLiveStreams from "@berth/domain/provisioning/live-streams/BuiltInLiveStreams"
import { UnclaimedPolicy } from "@berth/domain/provisioning/UnclaimedAgents"
import { FetchHttpClient } from "@effect/platform"
import { Layer, Option } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import * as MuxLiveStreams from "../mux/MuxLiveStreams.ts"

/** Live streams at Mux if its token is set, else at the built-in origin. */
export const liveStreamsFromSettings = ({ addresses, mux }: Settings) =>
  Option.match(mux.token, {
    onNone: () => BuiltInLiveStreams.layer({ appUrl: addresses.appUrl }),
    onSome: (token) => Layer.provide(MuxLiveStreams.layer({ ...token, apiUrl: mux.apiUrl }), FetchHttpClient.layer)
  })

export const policyFromSettings = ({ unclaimed }: Settings) => Layer.succeed(UnclaimedPolicy, unclaimed)
