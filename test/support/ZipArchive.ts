import { crc32, deflateRawSync } from "node:zlib"

/** An archive entry, which may be malformed. */
export interface ZipEntry {
  readonly name: string
  readonly text?: string
  readonly deflates?: boolean
  /** Unix file mode. */
  readonly mode?: number
  readonly declaredSize?: number
  /** CRC-32. Default: that of the text. */
  readonly checksum?: number
  readonly flags?: number
}

const numbers = (...fields: ReadonlyArray<readonly [bytes: 2 | 4, value: number]>) => {
  const buffer = Buffer.alloc(fields.reduce((sum, [bytes]) => sum + bytes, 0))
  let at = 0
  for (const [bytes, value] of fields) at = buffer.writeUIntLE(value, at, bytes)
  return buffer
}

/** The bytes of a zip archive (APPNOTE 4.3). */
export const makeZip = (entries: ReadonlyArray<ZipEntry>): Uint8Array => {
  const local: Array<Buffer> = []
  const central: Array<Buffer> = []
  let offset = 0
  for (const { checksum, declaredSize, deflates = false, flags = 0, mode = 0o100644, name, text = "" } of entries) {
    const path = Buffer.from(name)
    const plain = Buffer.from(text)
    const stored = deflates ? deflateRawSync(plain) : plain
    const common = numbers(
      [2, 20],
      [2, flags],
      [2, deflates ? 8 : 0],
      [4, 0],
      [4, checksum ?? crc32(plain)],
      [4, stored.length],
      [4, declaredSize ?? plain.length],
      [2, path.length],
      [2, 0]
    )
    local.push(numbers([4, 0x04034b50]), common, path, stored)
    central.push(
      numbers([4, 0x02014b50], [2, 0x0314]),
      common,
      numbers([2, 0], [2, 0], [2, 0], [4, mode * 0x10000], [4, offset]),
      path
    )
    offset += 4 + common.length + path.length + stored.length
  }
  const directory = Buffer.concat(central)
  const end = numbers(
    [4, 0x06054b50],
    [2, 0],
    [2, 0],
    [2, entries.length],
    [2, entries.length],
    [4, directory.length],
    [4, offset],
    [2, 0]
  )
  return new Uint8Array(Buffer.concat([...local, directory, end]))
}
