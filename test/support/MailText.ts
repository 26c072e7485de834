/** A decoded mail: unfolded headers and text. */
export interface ParsedMail {
  readonly headers: ReadonlyMap<string, string>
  /** Header names in order, with duplicates. */
  readonly names: ReadonlyArray<string>
  readonly text: string
}

const decodeBody = (body: string, encoding: string): string => {
  if (encoding === "base64") return Buffer.from(body, "base64").toString("utf8")
  if (encoding !== "quoted-printable") return body
  const bytes = body
    .replace(/=\r?\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, "latin1").toString("utf8")
}

export const parseMail = (source: string): ParsedMail => {
  const end = source.search(/\r?\n\r?\n/)
  const head = source.slice(0, end).replace(/\r?\n[ \t]+/g, " ")
  const lines = head.split(/\r?\n/).map((line): readonly [string, string] => {
    const colon = line.indexOf(":")
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  const headers = new Map(lines)
  const body = source.slice(end).replace(/^\r?\n\r?\n/, "")
  const text = decodeBody(body, (headers.get("content-transfer-encoding") ?? "").toLowerCase())
  return { headers, names: lines.map(([name]) => name), text: text.replaceAll("\r\n", "\n") }
}

export const findLinkToken = (text: string, path: string): string => {
  const found = new RegExp(`${path.replaceAll("/", "\\/")}\\?token=([A-Za-z0-9_-]+)`).exec(text)
  return found?.[1] ?? ""
}
