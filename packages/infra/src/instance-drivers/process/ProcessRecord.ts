import { RuntimeAddress } from "@berth/api/runtime/RuntimeContract"
import { Effect, Option, Schema } from "effect"
import { writeFileAtomically } from "../../files/AtomicFile.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import { type FileOperationFailed, tryFileOperation, readRegularFile } from "../HostFiles.ts"

/** File by which a later backend finds a running instance. */
export const ProcessRecord = Schema.Struct({
  pid: Schema.Int,
  /** Null on a system without start times. */
  startMark: Schema.NullOr(Schema.String),
  /** Separate account of the instance; null if it shares the backend's account. */
  uid: Schema.NullOr(Schema.Int),
  memoryMb: Schema.Number,
  diskMb: Schema.Number,
  /** Bytes in its directory before the start. */
  diskAtStart: Schema.Number,
  /** Digest of the runtime's program. */
  bundle: Schema.String,
  backendUrl: Schema.String
})
export type ProcessRecord = typeof ProcessRecord.Type

/**
 * Returns the account used only by this instance; none if it shares the backend's account, or its record is missing.
 */
export const accountOf = (record: Option.Option<Pick<ProcessRecord, "uid">>): Option.Option<number> =>
  Option.flatMapNullable(record, ({ uid }) => uid)

const ProcessRecordText = Schema.parseJson(ProcessRecord)
const decodeRecord = Schema.decodeOption(ProcessRecordText)
const decodeAddress = Schema.decodeOption(Schema.parseJson(RuntimeAddress))

/** None if the file is missing or malformed. */
export const readProcessRecord = ({
  record
}: InstanceDirectory): Effect.Effect<Option.Option<ProcessRecord>, FileOperationFailed> =>
  Effect.map(readRegularFile(record, 64 * 1024), Option.flatMap(decodeRecord))

export const writeProcessRecord = (
  { record }: InstanceDirectory,
  value: ProcessRecord
): Effect.Effect<void, FileOperationFailed> =>
  tryFileOperation(`writing ${record}`, () => writeFileAtomically(record, Schema.encodeSync(ProcessRecordText)(value)))

/** Reads the address published by the instance. The file is written by the instance, so it proves nothing. */
export const readRuntimeAddress = ({
  address
}: InstanceDirectory): Effect.Effect<Option.Option<RuntimeAddress>, FileOperationFailed> =>
  Effect.map(readRegularFile(address, 64 * 1024), Option.flatMap(decodeAddress))
