import { SkillInvalid, type SkillFile, skillLimits } from "@berth/domain/skills/uploads/SkillPackage"
import { Effect } from "effect"
import { crc32 } from "node:zlib"
import { type Entry, fromBuffer, type ZipFile } from "yauzl"

/** Maximum entries of an archive, including folders. */
const maximumEntries = 4 * skillLimits.files

const isLink = ({ externalFileAttributes }: Entry) => ((externalFileAttributes >>> 16) & 0o170000) === 0o120000

const fail = (reason: string) => new SkillInvalid({ reason: `The zip archive cannot be used: ${reason}.` })

/** Stops as soon as the contents exceed the limit, regardless of the declared size. */
const readContent = (zip: ZipFile, entry: Entry, remaining: number) =>
  Effect.async<Uint8Array, SkillInvalid>((resume) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error !== null) return resume(fail(error.message))
      const chunks: Array<Buffer> = []
      let size = 0
      stream.on("data", (chunk: Buffer) => {
        size += chunk.length
        if (size > remaining) {
          stream.destroy()
          return resume(fail(`its files have more than ${skillLimits.bytes} bytes`))
        }
        chunks.push(chunk)
      })
      stream.on("error", ({ message }) => resume(fail(message)))
      stream.on("end", () => {
        const content = new Uint8Array(Buffer.concat(chunks))
        resume(crc32(content) === entry.crc32 ? Effect.succeed(content) : fail(`${entry.fileName} is damaged`))
      })
    })
  })

const open = (content: Uint8Array) =>
  Effect.async<ZipFile, SkillInvalid>((resume) => {
    fromBuffer(Buffer.from(content), { lazyEntries: true, strictFileNames: true }, (error, zip) => {
      resume(error === null ? Effect.succeed(zip) : fail(error.message))
    })
  })

/** Reads the next entry; null after the last. */
const readEntry = (zip: ZipFile) =>
  Effect.async<Entry | null, SkillInvalid>((resume) => {
    zip.removeAllListeners()
    zip.once("entry", (entry: Entry) => resume(Effect.succeed(entry)))
    zip.once("end", () => resume(Effect.succeed(null)))
    zip.once("error", (error: Error) => resume(fail(error.message)))
    zip.readEntry()
  })

/** Returns the files of an archive. Rejects links, encrypted entries, and names outside of the archive's root. */
export const readZip = Effect.fnUntraced(function* (
  content: Uint8Array
): Effect.fn.Return<ReadonlyArray<SkillFile>, SkillInvalid> {
  const zip = yield* open(content)
  if (zip.entryCount > maximumEntries) return yield* fail(`it has ${zip.entryCount} entries`)
  const files: Array<SkillFile> = []
  let remaining: number = skillLimits.bytes
  for (let entry = yield* readEntry(zip); entry !== null; entry = yield* readEntry(zip)) {
    if (isLink(entry)) return yield* fail(`${entry.fileName} is a link`)
    if (entry.isEncrypted()) return yield* fail(`${entry.fileName} is encrypted`)
    if (entry.fileName.endsWith("/")) continue
    const file = yield* readContent(zip, entry, remaining)
    remaining -= file.length
    files.push({ path: entry.fileName, content: file })
  }
  return files
})
