/** Field types by field number. */
interface Message {
  readonly [field: number]: readonly [name: string, kind: "string" | "hex" | "integer" | "boolean" | "double" | Message]
}

const value: Message = {
  1: ["stringValue", "string"],
  2: ["boolValue", "boolean"],
  3: ["intValue", "integer"],
  4: ["doubleValue", "double"]
}
const attribute: Message = { 1: ["key", "string"], 2: ["value", value] }
const status: Message = { 3: ["code", "integer"] }
const span: Message = {
  1: ["traceId", "hex"],
  2: ["spanId", "hex"],
  4: ["parentSpanId", "hex"],
  5: ["name", "string"],
  6: ["kind", "integer"],
  9: ["attributes", attribute],
  11: ["events", { 2: ["name", "string"] }],
  13: ["links", { 1: ["traceId", "hex"], 2: ["spanId", "hex"] }],
  15: ["status", status]
}
const repeated = new Set(["resourceSpans", "scopeSpans", "spans", "attributes", "events", "links"])

/** The fields of OTLP's `ExportTraceServiceRequest` that tests read. */
export const exportedSpans: Message = {
  1: ["resourceSpans", { 1: ["resource", { 1: ["attributes", attribute] }], 2: ["scopeSpans", { 2: ["spans", span] }] }]
}

/** Decodes a protobuf message to its JSON form. Ignores unknown fields. */
export const readMessage = (bytes: Buffer, message: Message): Readonly<Record<string, unknown>> => {
  const read: Record<string, unknown> = {}
  let at = 0
  const readVarint = () => {
    let result = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++)
      result |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return Number(BigInt.asIntN(64, result))
    }
  }
  const take = (length: number) => bytes.subarray(at, (at += length))
  const readField = (wireType: number, kind: Message[number][1]): unknown => {
    if (wireType === 0) return kind === "boolean" ? readVarint() === 1 : readVarint()
    if (wireType === 1) return take(8).readDoubleLE()
    if (wireType === 5) return take(4).readFloatLE()
    const part = take(readVarint())
    if (typeof kind === "object") return readMessage(part, kind)
    return part.toString(kind === "hex" ? "hex" : "utf8")
  }
  while (at < bytes.length) {
    const tag = readVarint()
    const [name, kind] = message[tag >>> 3] ?? [undefined, "string" as const]
    const field = readField(tag & 7, kind)
    if (name === undefined) continue
    const before: ReadonlyArray<unknown> = Array.isArray(read[name]) ? read[name] : []
    read[name] = repeated.has(name) ? [...before, field] : field
  }
  return read
}
