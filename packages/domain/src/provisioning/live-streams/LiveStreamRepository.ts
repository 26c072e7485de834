import { Context, type DateTime, type Duration, type Effect, type Option } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { OwnerStorage } from "./FairShare.ts"
import type { LiveFileName } from "./LiveFile.ts"
import type { LiveStream, LiveStreamId } from "./LiveStream.ts"
import type { LiveLimitReached, LiveStreamNotFound } from "./LiveStreamErrors.ts"

interface NewLiveStream {
  readonly id: LiveStreamId
  readonly agentId: AgentId
  readonly playbackUrl: string
  /** Hash of the stream key; none for streams of a provider. */
  readonly keyHash: Option.Option<string>
}

export interface LiveFile {
  readonly content: Uint8Array
  readonly uploadedAt: DateTime.Utc
}

export interface LiveUpload {
  /**
   * Nanoseconds since the epoch. Encoders do not wait for responses, so a later upload can be stored before an earlier
   * one.
   */
  readonly receivedAt: bigint
  readonly name: LiveFileName
  readonly content: Uint8Array
  /** Files listed in the uploaded playlist. */
  readonly listed: ReadonlyArray<LiveFileName>
  /** Whether the uploaded playlist ends the broadcast. */
  readonly endsBroadcast: boolean
  /** Maximum bytes of the stream's files; the oldest are deleted. */
  readonly maximumBytes: number
}

interface StoredUpload {
  readonly hasStarted: boolean
  readonly hasEnded: boolean
}

interface BroadcastChanges {
  readonly started: ReadonlyArray<AgentId>
  readonly ended: ReadonlyArray<AgentId>
}

/** Streams of agents, and the short-lived files of the built-in origin. */
export class LiveStreamRepository extends Context.Tag("@berth/LiveStreamRepository")<
  LiveStreamRepository,
  {
    readonly insert: (stream: NewLiveStream) => Effect.Effect<void>
    readonly find: (id: LiveStreamId) => Effect.Effect<Option.Option<LiveStream>>
    readonly findByAgent: (agentId: AgentId) => Effect.Effect<Option.Option<LiveStream>>
    readonly findByKeyHash: (keyHash: string) => Effect.Effect<Option.Option<LiveStream>>
    /**
     * Invalidates the agent's stream key, to be replaced within `dueIn`. False without a stream, or if another
     * replacement is in progress. Joins the running transaction.
     */
    readonly expireKey: (agentId: AgentId, dueIn: Duration.Duration) => Effect.Effect<boolean>
    /** Claims agents whose stream key is due. Unless it is replaced, it is due again after `retryIn`. */
    readonly claimDueKeys: (retryIn: Duration.Duration) => Effect.Effect<ReadonlyArray<AgentId>>
    /** Marks the key as replaced. Without a hash, the stream accepts no upload. */
    readonly setKeyHash: (id: LiveStreamId, keyHash: Option.Option<string>) => Effect.Effect<void>
    /**
     * Stores and counts the file in the stream of the key; ignores a version received earlier than the stored one.
     * Joins the running transaction.
     */
    readonly store: (
      keyHash: string,
      upload: LiveUpload
    ) => Effect.Effect<StoredUpload, LiveStreamNotFound | LiveLimitReached>
    /** Idempotent. */
    readonly removeFile: (id: LiveStreamId, name: LiveFileName) => Effect.Effect<void>
    readonly readFile: (id: LiveStreamId, name: LiveFileName) => Effect.Effect<Option.Option<LiveFile>>
    readonly listFileNames: (id: LiveStreamId) => Effect.Effect<ReadonlySet<string>>
    readonly listStorage: Effect.Effect<ReadonlyArray<OwnerStorage>>
    /** Records which streams of a provider are in broadcast; returns the agents whose broadcast started or ended. */
    readonly recordActive: (active: ReadonlySet<LiveStreamId>) => Effect.Effect<BroadcastChanges>
    /** Ends broadcasts without an upload for `idle`; returns their agents. */
    readonly endIdle: (idle: Duration.Duration) => Effect.Effect<ReadonlyArray<AgentId>>
    /** Deletes files after their retention; returns their number. */
    readonly pruneFiles: (retention: Duration.Duration) => Effect.Effect<number>
    /** Streams of deleted agents. */
    readonly listAbandoned: Effect.Effect<ReadonlyArray<LiveStreamId>>
    readonly remove: (id: LiveStreamId) => Effect.Effect<void>
  }
>() {}
