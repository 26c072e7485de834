import { generateKeyPairSync, sign } from "node:crypto"

const der = (tag: number, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const body = Buffer.concat(parts)
  const length =
    body.length < 128
      ? Buffer.of(body.length)
      : body.length < 256
        ? Buffer.of(0x81, body.length)
        : Buffer.of(0x82, body.length >> 8, body.length & 255)
  return Buffer.concat([Buffer.of(tag), length, body])
}
const sequence = (...parts: ReadonlyArray<Buffer>) => der(0x30, ...parts)
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"))
const time = (text: string) => der(0x18, Buffer.from(text))
const octets = (content: Buffer) => der(0x04, content)
const isTrue = der(0x01, Buffer.of(0xff))

/**
 * A certificate for the loopback address and its key (RFC 5280) for one test run: clients of a real cluster use TLS.
 */
export const makeSelfSignedCertificate = (): { readonly cert: string; readonly key: string } => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const algorithm = sequence(oid("2a8648ce3d040302"))
  const name = sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from("fake-kubernetes")))))
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    algorithm,
    name,
    sequence(time("20200101000000Z"), time("20990101000000Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(
      0xa3,
      sequence(
        sequence(oid("551d11"), octets(sequence(der(0x87, Buffer.of(127, 0, 0, 1))))),
        sequence(oid("551d13"), isTrue, octets(sequence(isTrue)))
      )
    )
  )
  const signature = der(0x03, Buffer.of(0), sign("sha256", body, privateKey))
  const lines = sequence(body, algorithm, signature)
    .toString("base64")
    .replaceAll(/.{64}(?=.)/g, "$&\n")
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  }
}
