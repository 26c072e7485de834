import { execFileSync } from "node:child_process"
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/**
 * Creates ca.pem, cert.pem and key.pem in the directory: an authority, and its certificate for 127.0.0.1 and clients.
 */
export const makeCertificates = (directory: string): string => {
  mkdirSync(directory, { recursive: true })
  const at = (name: string) => join(directory, name)
  const openssl = (...args: ReadonlyArray<string>) => execFileSync("openssl", args, { stdio: "pipe" })
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
  openssl(
    "req",
    "-x509",
    ...newKey,
    "-days",
    "2",
    "-subj",
    "/CN=authority",
    "-keyout",
    at("ca.key"),
    "-out",
    at("ca.pem")
  )
  openssl("req", ...newKey, "-subj", "/CN=peer", "-keyout", at("key.new"), "-out", at("peer.csr"))
  writeFileSync(at("extensions"), "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
  openssl(
    "x509",
    "-req",
    "-in",
    at("peer.csr"),
    "-CA",
    at("ca.pem"),
    "-CAkey",
    at("ca.key"),
    "-CAcreateserial",
    "-days",
    "2",
    "-extfile",
    at("extensions"),
    "-out",
    at("cert.pem")
  )
  renameSync(at("key.new"), at("key.pem"))
  return directory
}
