/*
 * WAV: a RIFF file of chunks with a four-letter id and a length, padded to an even size. A LIST chunk of type INFO
 * contains metadata.
 */

interface WavText {
  /** Four-letter id: ICMT for the comment, ISFT for the software. */
  readonly name: string
  readonly text: string
}

interface WavFile {
  /** Samples per second. */
  readonly rate: number
  readonly seconds: number
  readonly texts: ReadonlyArray<WavText>
}

const encoder = new TextEncoder()

const encodeChunk = (name: string, body: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(8 + body.length + (body.length % 2))
  bytes.set(encoder.encode(name))
  new DataView(bytes.buffer).setUint32(4, body.length, true)
  bytes.set(body, 8)
  return bytes
}

const concatBytes = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

const bytesPerSample = 2

/** Returns the format chunk for one channel of 16-bit PCM. */
const formatOf = (rate: number): Uint8Array => {
  const bytes = new Uint8Array(16)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, 1, true)
  view.setUint16(2, 1, true)
  view.setUint32(4, rate, true)
  view.setUint32(8, rate * bytesPerSample, true)
  view.setUint16(12, bytesPerSample, true)
  view.setUint16(14, bytesPerSample * 8, true)
  return bytes
}

const samplesOf = (samples: Int16Array): Uint8Array => {
  const bytes = new Uint8Array(samples.length * bytesPerSample)
  const view = new DataView(bytes.buffer)
  samples.forEach((sample, index) => view.setInt16(index * bytesPerSample, sample, true))
  return bytes
}

/** Encodes mono audio with metadata; texts must not contain U+0000. */
export const writeWav = (samples: Int16Array, rate: number, texts: ReadonlyArray<WavText>): Uint8Array => {
  const info = texts.map(({ name, text }) => encodeChunk(name, concatBytes(encoder.encode(text), new Uint8Array(1))))
  return encodeChunk(
    "RIFF",
    concatBytes(
      encoder.encode("WAVE"),
      encodeChunk("fmt ", formatOf(rate)),
      encodeChunk("LIST", concatBytes(encoder.encode("INFO"), ...info)),
      encodeChunk("data", samplesOf(samples))
    )
  )
}

interface Chunk {
  readonly name: string
  readonly body: Uint8Array
}

const decodeLatin1 = (bytes: Uint8Array) => String.fromCharCode(...bytes)

/** Returns the chunks; the last chunk may be truncated, as in an interrupted recording. */
const chunksIn = (bytes: Uint8Array): ReadonlyArray<Chunk> => {
  const chunks: Array<Chunk> = []
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  while (at + 8 <= bytes.length) {
    const length = view.getUint32(at + 4, true)
    chunks.push({ name: decodeLatin1(bytes.subarray(at, at + 4)), body: bytes.subarray(at + 8, at + 8 + length) })
    at += 8 + length + (length % 2)
  }
  return chunks
}

const textsIn = (body: Uint8Array): ReadonlyArray<WavText> =>
  decodeLatin1(body.subarray(0, 4)) === "INFO"
    ? chunksIn(body.subarray(4)).map(({ body: text, name }) => ({
        name,
        text: new TextDecoder().decode(text).replace(/\0.*$/s, "")
      }))
    : []

/** Reads the properties of a WAV file; null for a malformed one. */
export const readWav = (bytes: Uint8Array): WavFile | null => {
  if (decodeLatin1(bytes.subarray(0, 4)) !== "RIFF" || decodeLatin1(bytes.subarray(8, 12)) !== "WAVE") return null
  const chunks = chunksIn(bytes.subarray(12))
  const format = chunks.find(({ name }) => name === "fmt ")?.body
  const data = chunks.find(({ name }) => name === "data")?.body
  if (format === undefined || format.length < 16 || data === undefined) return null
  const view = new DataView(format.buffer, format.byteOffset, format.byteLength)
  const [rate, bytesPerSecond] = [view.getUint32(4, true), view.getUint32(8, true)]
  if (rate === 0 || bytesPerSecond === 0) return null
  return {
    rate,
    seconds: data.length / bytesPerSecond,
    texts: chunks.filter(({ name }) => name === "LIST").flatMap(({ body }) => textsIn(body))
  }
}
