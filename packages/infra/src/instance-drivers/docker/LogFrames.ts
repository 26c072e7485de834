const headerBytes = 8

/**
 * Joins the frames of a container's log: a header (stream, three zeros, length) and a payload. Drops an incomplete
 * frame.
 */
export const joinLogFrames = (bytes: Uint8Array): string => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parts: Array<Buffer> = []
  for (let at = 0; at + headerBytes <= buffer.length;) {
    const end = at + headerBytes + buffer.readUInt32BE(at + 4)
    if (end > buffer.length) break
    parts.push(buffer.subarray(at + headerBytes, end))
    at = end
  }
  return Buffer.concat(parts).toString("utf8")
}
