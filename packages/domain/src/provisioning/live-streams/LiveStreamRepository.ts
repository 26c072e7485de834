import { Context, type DateTime, type Duration, type Effect, type Option } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { OwnerStorage } from "./FairShare.ts"
import type { LiveFileName } from "./LiveFile.ts"
import type { LiveStream, LiveStreamId } from "./LiveStream.ts"
import type { LiveLimitReached, LiveStreamNotFound } from "./LiveStreamErrors.ts"

export interface NewLiveStream {
  readonly id: LiveStreamId
  readonly agentId: AgentId
  readonly playbackUrl: string
  /** Of the stream key; none for streams of a provider. */
  readonly keyHash: Option.Option<string>
}

export interface LiveFile {
  readonly content: Uint8Array
  readonly uploadedAt: DateTime.Utc
}

export interface LiveUpload {
  /** Nanoseconds since the epoch. Encoders do not wait for answers, so a later upload can be stored before an earlier one. */
  readonly receivedAt: bigint
  readonly name: LiveFileName
  readonly content: Uint8Array
  /** Files that the uploaded playlist lists. */
  readonly listed: ReadonlyArray<LiveFileName>
  /** Whether the uploaded playlist ends the broadcast. */
  readonly endsBroadcast: boolean
  /** Of the stream's files; the oldest ones give way. */
  readonly maximumBytes: number
}

export interface StoredUpload {
  readonly hasStarted: boolean
  readonly hasEnded: boolean
}

export interface BroadcastChanges {
  readonly started: ReadonlyArray<AgentId>
  readonly ended: ReadonlyArray<AgentId>
}

/** The streams of agents, and the files of the built-in origin for a short time. */
export class LiveStreamRepository extends Context.Tag("@berth/LiveStreamRepository")<
  LiveStreamRepository,
  {
    readonly insert: (stream: NewLiveStream) => Effect.Effect<void>
    readonly find: (id: LiveStreamId) => Effect.Effect<Option.Option<LiveStream>>
    readonly findByAgent: (agentId: AgentId) => Effect.Effect<Option.Option<LiveStream>>
    readonly findByKeyHash: (keyHash: string) => Effect.Effect<Option.Option<LiveStream>>
    /**
     * Refuses uploads by the agent's stream key, which is to be replaced at the latest after `dueIn`. False without a stream,
     * and while another replacement is under way. Joins the running transaction.
     */
    readonly expireKey: (agentId: AgentId, dueIn: Duration.Duration) => Effect.Effect<boolean>
    /** The agents whose stream key is due. They are due again after `retryIn` unless it is replaced. */
    readonly claimDueKeys: (retryIn: Duration.Duration) => Effect.Effect<ReadonlyArray<AgentId>>
    /** The key is not due any more. Without a hash: no upload reaches the stream. */
    readonly setKeyHash: (id: LiveStreamId, keyHash: Option.Option<string>) => Effect.Effect<void>
    /** Stores and counts the file in the stream of the key; a version that was received earlier is ignored. Joins the running transaction. */
    readonly store: (
      keyHash: string,
      upload: LiveUpload
    ) => Effect.Effect<StoredUpload, LiveStreamNotFound | LiveLimitReached>
    /** Idempotent. */
    readonly removeFile: (id: LiveStreamId, name: LiveFileName) => Effect.Effect<void>
    readonly readFile: (id: LiveStreamId, name: LiveFileName) => Effect.Effect<Option.Option<LiveFile>>
    readonly listFileNames: (id: LiveStreamId) => Effect.Effect<ReadonlySet<string>>
    readonly listStorage: Effect.Effect<ReadonlyArray<OwnerStorage>>
    /** Records which streams of a provider are in broadcast; returns the agents of those that started and ended. */
    readonly recordActive: (active: ReadonlySet<LiveStreamId>) => Effect.Effect<BroadcastChanges>
    /** Ends the broadcasts without an upload for `idle`; returns their agents. */
    readonly endIdle: (idle: Duration.Duration) => Effect.Effect<ReadonlyArray<AgentId>>
    /** Deletes the files past their retention; returns their number. */
    readonly pruneFiles: (retention: Duration.Duration) => Effect.Effect<number>
    /** Streams whose agent was deleted. */
    readonly listAbandoned: Effect.Effect<ReadonlyArray<LiveStreamId>>
    readonly remove: (id: LiveStreamId) => Effect.Effect<void>
  }
>() {}
