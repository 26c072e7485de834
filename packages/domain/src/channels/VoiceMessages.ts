import { Data, Duration, Effect, Option } from "effect"
import { readAudioDuration } from "../gateway/speech/AudioDuration.ts"
import { ChargedTranscription } from "../gateway/speech/ChargedTranscription.ts"
import type { User } from "../shared/User.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { ChannelKey } from "./ChannelConnection.ts"
import { ChannelConnections } from "./ChannelConnections.ts"
import type { InboundFile } from "./ChannelMessage.ts"
import { type ChannelPlatform, ChannelPlatforms, type ConnectedBot } from "./ChannelPlatform.ts"
import { maximumRecording } from "./ChannelPolicy.ts"
import type { SpokenContent } from "./ChannelTurns.ts"
import { listRecordings } from "./InboundText.ts"

/** No provider transcribes. */
export class TranscriptionUnavailable extends Data.TaggedError("TranscriptionUnavailable")<object> {}
/** A recording is too long, cannot be downloaded or is not understood. */
export class RecordingRejected extends Data.TaggedError("RecordingRejected")<{ readonly reason: string }> {}

const isTooLong = (seconds: number) => seconds > Duration.toSeconds(maximumRecording)
const tooLong = new RecordingRejected({
  reason: `the voice message is longer than ${Duration.format(maximumRecording)}`
})

/** The recordings of messages as text, charged to the agent's owner. */
export class VoiceMessages extends Effect.Service<VoiceMessages>()("@berth/VoiceMessages", {
  effect: Effect.gen(function* () {
    const connections = yield* ChannelConnections
    const platforms = yield* ChannelPlatforms
    const transcription = yield* ChargedTranscription

    const openBot = Effect.fnUntraced(function* (key: ChannelKey) {
      const { agentId, platform } = key
      const [found, secrets] = yield* Effect.all([connections.find(key), connections.readSecrets(key)])
      const [adapter, bot] = [platforms.get(platform), Option.getOrUndefined(found)?.bot ?? null]
      if (adapter === undefined || bot === null || Option.isNone(secrets))
        return yield* new RecordingRejected({ reason: "the channel is not connected any more" })
      return { adapter, bot: { agentId, bot, secrets: secrets.value } }
    })

    const download = (
      { adapter, bot }: { readonly adapter: ChannelPlatform; readonly bot: ConnectedBot },
      file: InboundFile
    ) =>
      Effect.mapError(
        adapter.download(bot, file),
        ({ _tag }) => new RecordingRejected({ reason: `the voice message was not downloaded (${_tag})` })
      )

    const transcribe = Effect.fn("VoiceMessages.transcribe")(function* (
      owner: User,
      agentId: AgentId,
      { content, platform }: SpokenContent
    ) {
      const recordings = listRecordings(platform, content)
      const texts = new Map<InboundFile["id"], string>()
      const channel = yield* openBot({ agentId, platform })
      for (const file of recordings) {
        if (isTooLong(file.seconds ?? 0)) return yield* tooLong
        const audio = yield* download(channel, file)
        if (Option.exists(readAudioDuration(audio), isTooLong)) return yield* tooLong
        const sound = {
          audio,
          contentType: file.mediaType ?? "application/octet-stream",
          filename: file.name ?? "voice"
        }
        const text = yield* transcription
          .transcribe(owner, sound, `voice:${agentId}:${platform}:${content.messageId}:${file.id}`)
          .pipe(
            Effect.catchTags({
              PluginFailed: ({ isUnavailable, reason }) =>
                Effect.fail(
                  isUnavailable === true ? new TranscriptionUnavailable() : new RecordingRejected({ reason })
                ),
              PluginInputInvalid: ({ message }) => new RecordingRejected({ reason: message })
            })
          )
        texts.set(file.id, text)
      }
      return texts
    })

    return { transcribe }
  })
}) {}
