import { RuntimeAddress } from "@berth/api/runtime/RuntimeContract"
import { Effect, Option, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { rename, writeFile } from "node:fs/promises"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import { type FileOperationFailed, tryFileOperation, readRegularFile } from "./HostFiles.ts"

/** What the driver noted when it started a cell, so that a later backend finds it again. */
export const ProcessRecord = Schema.Struct({
  pid: Schema.Int,
  /** When the process began, in the system's words; null where it did not say. */
  began: Schema.NullOr(Schema.String),
  memoryMb: Schema.Number,
  diskMb: Schema.Number,
  /** What its directory held when it was started, in bytes. */
  diskAtStart: Schema.Number,
  /** Digest of the program that it runs. */
  bundle: Schema.String,
  backendUrl: Schema.String
})
export type ProcessRecord = typeof ProcessRecord.Type

const Text = Schema.parseJson(ProcessRecord)
const decodeRecord = Schema.decodeOption(Text)
const decodeAddress = Schema.decodeOption(Schema.parseJson(RuntimeAddress))

/** None too when what is there cannot be read: such a record says nothing. */
export const readProcessRecord = ({
  record
}: InstanceDirectory): Effect.Effect<Option.Option<ProcessRecord>, FileOperationFailed> =>
  Effect.map(readRegularFile(record, 64 * 1024), Option.flatMap(decodeRecord))

export const writeProcessRecord = (
  { record }: InstanceDirectory,
  value: ProcessRecord
): Effect.Effect<void, FileOperationFailed> =>
  tryFileOperation(`writing ${record}`, async () => {
    const unfinished = `${record}.${randomUUID()}`
    await writeFile(unfinished, Schema.encodeSync(Text)(value), { mode: 0o600, flag: "wx" })
    await rename(unfinished, record)
  })

/** Where the cell says that it listens. The cell writes it, so it is no proof of anything. */
export const readRuntimeAddress = ({
  address
}: InstanceDirectory): Effect.Effect<Option.Option<RuntimeAddress>, FileOperationFailed> =>
  Effect.map(readRegularFile(address, 64 * 1024), Option.flatMap(decodeAddress))
