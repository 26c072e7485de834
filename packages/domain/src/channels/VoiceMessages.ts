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
import { Chats } from "./Chats.ts"
import { listRecordings } from "./InboundText.ts"

/** No provider transcribes speech. */
class TranscriptionUnavailable extends Data.TaggedError("TranscriptionUnavailable")<object> {}
/** A recording is too long, cannot be downloaded or cannot be transcribed. */
class RecordingRejected extends Data.TaggedError("RecordingRejected")<{ readonly reason: string }> {}

const isTooLong = (seconds: number) => seconds > Duration.toSeconds(maximumRecording)
const tooLong = new RecordingRejected({
  reason: `the voice message is longer than ${Duration.format(maximumRecording)}`
})

/** Transcribes recordings of messages, at the cost of the agent's owner. */
export class VoiceMessages extends Effect.Service<VoiceMessages>()("@berth/VoiceMessages", {
  effect: Effect.gen(function* () {
    const chats = yield* Chats
    const connections = yield* ChannelConnections
    const platforms = yield* ChannelPlatforms
    const transcription = yield* ChargedTranscription

    const openBot = Effect.fnUntraced(function* (key: ChannelKey) {
      const { connection, secrets } = Option.getOrUndefined(yield* connections.findWithSecrets(key)) ?? {}
      const [adapter, bot] = [platforms.get(key.platform), connection?.bot ?? null]
      if (adapter === undefined || bot === null || secrets === undefined)
        return yield* new RecordingRejected({ reason: "the channel is not connected any more" })
      return { adapter, bot: { agentId: key.agentId, bot, secrets } }
    })

    const download = (
      { adapter, bot }: { readonly adapter: ChannelPlatform; readonly bot: ConnectedBot },
      file: InboundFile
    ) =>
      Effect.mapError(
        adapter.download(bot, file),
        ({ _tag }) => new RecordingRejected({ reason: `the voice message was not downloaded (${_tag})` })
      )

    /** Transcribes each recording once, even if the message is repeated. */
    const transcribe = Effect.fn("VoiceMessages.transcribe")(function* (
      owner: User,
      agentId: AgentId,
      { content, id, platform }: SpokenContent
    ) {
      const texts = new Map<InboundFile["id"], string>(yield* chats.findTranscripts(id))
      const recordings = listRecordings(platform, content).filter((file) => !texts.has(file.id))
      if (recordings.length === 0) return texts
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
          .transcribe(owner, sound, `voice:${agentId}:${platform}:${content.messageId}:${file.id}`, agentId)
          .pipe(
            Effect.catchTags({
              PluginFailed: ({ isUnavailable, reason }) =>
                Effect.fail(
                  isUnavailable === true ? new TranscriptionUnavailable() : new RecordingRejected({ reason })
                ),
              PluginInputInvalid: ({ message }) => new RecordingRejected({ reason: message })
            })
          )
        yield* chats.storeTranscript(id, file.id, text)
        texts.set(file.id, text)
      }
      return texts
    })

    return { transcribe }
  })
}) {}
