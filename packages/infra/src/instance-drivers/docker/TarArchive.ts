/** A file, or a directory without `content`, in an archive (POSIX ustar). */
export interface TarEntry {
  readonly path: string
  readonly mode: number
  readonly uid: number
  readonly content?: string
}

const blockSize = 512
const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, "0")}\0`

const makeHeader = ({ content, mode, path, uid }: TarEntry, size: number): Buffer => {
  const header = Buffer.alloc(blockSize)
  header.write(path, 0, 100)
  header.write(octal(mode, 8), 100)
  header.write(octal(uid, 8), 108)
  header.write(octal(uid, 8), 116)
  header.write(octal(size, 12), 124)
  header.write(octal(0, 12), 136)
  header.write(" ".repeat(8), 148)
  header.write(content === undefined ? "5" : "0", 156)
  header.write("ustar\0" + "00", 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
  return header
}

export const makeTarArchive = (entries: ReadonlyArray<TarEntry>): Uint8Array =>
  Buffer.concat([
    ...entries.flatMap((entry) => {
      const body = Buffer.from(entry.content ?? "")
      return [makeHeader(entry, body.length), body, Buffer.alloc((blockSize - (body.length % blockSize)) % blockSize)]
    }),
    Buffer.alloc(2 * blockSize)
  ])
