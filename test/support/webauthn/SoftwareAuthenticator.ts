import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto"

/** CBOR (RFC 8949) encoding of the values in attestation objects. */
const encodeHead = (major: number, value: number): Buffer => {
  if (value < 24) return Buffer.from([(major << 5) | value])
  if (value < 256) return Buffer.from([(major << 5) | 24, value])
  return Buffer.from([(major << 5) | 25, value >> 8, value & 255])
}
type Cbor = number | string | Buffer | ReadonlyMap<number | string, Cbor>
const encodeCbor = (value: Cbor): Buffer => {
  if (typeof value === "number") return value < 0 ? encodeHead(1, -1 - value) : encodeHead(0, value)
  if (typeof value === "string") return Buffer.concat([encodeHead(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([encodeHead(2, value.length), value])
  const entries = [...value].flatMap(([key, member]) => [encodeCbor(key), encodeCbor(member)])
  return Buffer.concat([encodeHead(5, value.size), ...entries])
}

const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest()
const toBase64UrlJson = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")

/** Deviations from a valid response. */
export interface ResponseChanges {
  readonly origin?: string
  readonly rpId?: string
  readonly crossOrigin?: boolean
  readonly userVerified?: boolean
  readonly counter?: number
  /** Type of the client data. */
  readonly type?: string
  /** Format of the attestation statement. */
  readonly format?: string
  readonly hasCertificates?: boolean
  readonly otherKey?: boolean
}

/** A passkey in memory. Responses are base64url JSON, as pages send them. */
export const makeSoftwareAuthenticator = ({ hostname, origin }: URL) => {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const otherKeys = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const { x = "", y = "" } = keys.publicKey.export({ format: "jwk" })
  const id = randomBytes(32)
  let counter = 0

  const clientData = (type: string, message: string, changes: ResponseChanges) =>
    Buffer.from(
      JSON.stringify({
        type: changes.type ?? type,
        challenge: Buffer.from(message).toString("base64url"),
        origin: changes.origin ?? origin,
        crossOrigin: changes.crossOrigin ?? false
      })
    )

  const authenticatorData = (changes: ResponseChanges, credential: Buffer = Buffer.alloc(0)) => {
    const flags = 0x01 | (changes.userVerified === false ? 0 : 0x04) | (credential.length > 0 ? 0x40 : 0)
    const head = Buffer.alloc(5)
    head.writeUInt8(flags, 0)
    head.writeUInt32BE(changes.counter ?? counter, 1)
    return Buffer.concat([sha256(changes.rpId ?? hostname), head, credential])
  }

  const respond = (response: Record<string, Buffer>) =>
    toBase64UrlJson({
      id: id.toString("base64url"),
      rawId: id.toString("base64url"),
      type: "public-key",
      clientExtensionResults: {},
      response: Object.fromEntries(Object.entries(response).map(([name, data]) => [name, data.toString("base64url")]))
    })

  return {
    id: id.toString("base64url"),
    /** Creates the credential for a base64url challenge. */
    register: (challenge: string, changes: ResponseChanges = {}) => {
      const coordinate = (text: string) => Buffer.from(text, "base64url")
      const key = encodeCbor(
        new Map<number, Cbor>([
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, coordinate(x)],
          [-3, coordinate(y)]
        ])
      )
      const length = Buffer.alloc(2)
      length.writeUInt16BE(id.length)
      const authData = authenticatorData(changes, Buffer.concat([Buffer.alloc(16), length, id, key]))
      const statement = new Map<string, Cbor>(changes.hasCertificates === true ? [["x5c", new Map()]] : [])
      const attestationObject = encodeCbor(
        new Map<string, Cbor>([
          ["fmt", changes.format ?? "none"],
          ["attStmt", statement],
          ["authData", authData]
        ])
      )
      const message = Buffer.from(challenge, "base64url").toString()
      return respond({ clientDataJSON: clientData("webauthn.create", message, changes), attestationObject })
    },
    /** Signs a message; the counter increases. */
    sign: (message: string, changes: ResponseChanges = {}) => {
      counter += 1
      const clientDataJSON = clientData("webauthn.get", message, changes)
      const data = authenticatorData(changes)
      const { privateKey } = changes.otherKey === true ? otherKeys : keys
      const signature = sign("sha256", Buffer.concat([data, sha256(clientDataJSON)]), privateKey)
      return respond({ clientDataJSON, authenticatorData: data, signature })
    }
  }
}
