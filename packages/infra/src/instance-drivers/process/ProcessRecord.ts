import { RuntimeAddress } from "@berth/api/runtime/RuntimeContract"
import { Effect, Option, Schema } from "effect"
import { writeFileAtomically } from "../../files/AtomicFile.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import { type FileOperationFailed, tryFileOperation, readRegularFile } from "../HostFiles.ts"

/** The file by which a later backend finds a running instance. */
export const ProcessRecord = Schema.Struct({
  pid: Schema.Int,
  /** Null on a system without start times. */
  startMark: Schema.NullOr(Schema.String),
  /** The instance's own account; null when it shares the backend's. */
  uid: Schema.NullOr(Schema.Int),
  memoryMb: Schema.Number,
  diskMb: Schema.Number,
  /** Bytes in its directory when it was started. */
  diskAtStart: Schema.Number,
  /** Digest of the runtime's program. */
  bundle: Schema.String,
  backendUrl: Schema.String
})
export type ProcessRecord = typeof ProcessRecord.Type

/** The account that only this instance uses; none when it shares the backend's, or its record is missing. */
export const accountOf = (record: Option.Option<Pick<ProcessRecord, "uid">>): Option.Option<number> =>
  Option.flatMapNullable(record, ({ uid }) => uid)

const ProcessRecordText = Schema.parseJson(ProcessRecord)
const decodeRecord = Schema.decodeOption(ProcessRecordText)
const decodeAddress = Schema.decodeOption(Schema.parseJson(RuntimeAddress))

/** None when the file is missing or malformed. */
export const readProcessRecord = ({
  record
}: InstanceDirectory): Effect.Effect<Option.Option<ProcessRecord>, FileOperationFailed> =>
  Effect.map(readRegularFile(record, 64 * 1024), Option.flatMap(decodeRecord))

export const writeProcessRecord = (
  { record }: InstanceDirectory,
  value: ProcessRecord
): Effect.Effect<void, FileOperationFailed> =>
  tryFileOperation(`writing ${record}`, () => writeFileAtomically(record, Schema.encodeSync(ProcessRecordText)(value)))

/** The address that the instance published. The instance writes the file, so it proves nothing. */
export const readRuntimeAddress = ({
  address
}: InstanceDirectory): Effect.Effect<Option.Option<RuntimeAddress>, FileOperationFailed> =>
  Effect.map(readRegularFile(address, 64 * 1024), Option.flatMap(decodeAddress))
