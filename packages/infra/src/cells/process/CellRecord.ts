import { CellAddress } from "@berth/api/cell/CellContract"
import { Effect, Option, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { rename, writeFile } from "node:fs/promises"
import type { CellPlace } from "./CellPlace.ts"
import { type FileTrouble, io, readPlain } from "./HostFiles.ts"

/** What the driver noted when it started a cell, so that a later backend finds it again. */
export const CellRecord = Schema.Struct({
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
export type CellRecord = typeof CellRecord.Type

const Text = Schema.parseJson(CellRecord)
const decodeRecord = Schema.decodeOption(Text)
const decodeAddress = Schema.decodeOption(Schema.parseJson(CellAddress))

/** None too when what is there cannot be read: such a record says nothing. */
export const read = ({ record }: CellPlace): Effect.Effect<Option.Option<CellRecord>, FileTrouble> =>
  Effect.map(readPlain(record, 64 * 1024), Option.flatMap(decodeRecord))

export const write = ({ record }: CellPlace, value: CellRecord): Effect.Effect<void, FileTrouble> =>
  io(`writing ${record}`, async () => {
    const unfinished = `${record}.${randomUUID()}`
    await writeFile(unfinished, Schema.encodeSync(Text)(value), { mode: 0o600, flag: "wx" })
    await rename(unfinished, record)
  })

/** Where the cell says that it listens. The cell writes it, so it is no proof of anything. */
export const readAddress = ({ address }: CellPlace): Effect.Effect<Option.Option<CellAddress>, FileTrouble> =>
  Effect.map(readPlain(address, 64 * 1024), Option.flatMap(decodeAddress))
