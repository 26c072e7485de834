import { Data, type DateTime, Either, Redacted, Schema } from "effect"
import { parseOutboundUrl } from "../../shared/OutboundUrl.ts"

export const maximumMcpServers = 8
const maximumHeaders = 16
const maximumHeaderLength = 4096

/** Prefix of the server's tool names. */
export const McpServerName = Schema.String.pipe(
  Schema.pattern(/^[a-z0-9]+(_[a-z0-9]+)*$/, {
    message: () => "must have lower-case letters, digits and single underscores between them"
  }),
  Schema.maxLength(24, { message: () => "must have at most 24 characters" })
)

/** A Model Context Protocol server whose tools an agent uses. Headers and query values are secrets. */
export interface McpServer {
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
}

export interface StoredMcpServer extends McpServer {
  readonly updatedAt: DateTime.Utc
}

export interface McpServerInput extends Pick<McpServer, "name" | "url"> {
  /** Absent: the stored headers for this name and address. */
  readonly headers?: McpServer["headers"] | undefined
}

/** The reason is a sentence. */
export class McpServersInvalid extends Data.TaggedError("McpServersInvalid")<{ readonly reason: string }> {}

const invalid = (reason: string) => Either.left(new McpServersInvalid({ reason }))

const checkUrl = ({ name, url }: McpServerInput, httpsOnly: boolean) =>
  Either.mapBoth(parseOutboundUrl(url, { httpsOnly }), {
    onLeft: (reason) => new McpServersInvalid({ reason: `\`url\` of ${name} ${reason}` }),
    onRight: ({ href }) => href
  })

const maskedValue = "***"

/** Parts of the query as sent. A part without `=` is a value. */
const splitQuery = ({ search }: URL) =>
  search
    .slice(1)
    .split("&")
    .map((part) => {
      const at = part.indexOf("=") + 1
      return { name: part.slice(0, at), value: part.slice(at) }
    })

/** Returns the address without its query values. A change with the masked address keeps the values. */
export const maskMcpUrl = (address: string): string => {
  const url = new URL(address)
  url.search = splitQuery(url)
    .map(({ name, value }) => (name + value === "" ? "" : `${name}${maskedValue}`))
    .join("&")
  return url.href
}

/** Restores the stored values of a masked query. */
const restoreUrl = (name: string, url: string, before: string | undefined) => {
  if (before !== undefined && url === maskMcpUrl(before)) return Either.right(before)
  return [...new URL(url).searchParams].flat().includes(maskedValue)
    ? invalid(`Give the query of \`url\` of ${name} again, since its \`url\` changes.`)
    : Either.right(url)
}

/** Headers set by the transport. */
const ownHeader = /^(host|connection|content-.*|transfer-encoding|accept|keep-alive|upgrade|te|trailer|expect|mcp-.*)$/i

const checkHeaders = (name: string, headers: McpServer["headers"]): Either.Either<void, McpServersInvalid> => {
  const entries = Object.entries(headers)
  if (entries.length > maximumHeaders) return invalid(`${name} has more than ${maximumHeaders} headers.`)
  const [wrongName] = entries.find(([header]) => !/^[A-Za-z0-9-]{1,100}$/.test(header) || ownHeader.test(header)) ?? []
  if (wrongName !== undefined) return invalid(`\`headers\` of ${name}: ${wrongName.slice(0, 100)} cannot be set.`)
  const isWrong = (value: string) => !/^[\t\x20-\x7e]*$/.test(value) || value.length > maximumHeaderLength
  const [wrong] = entries.find(([, value]) => isWrong(Redacted.value(value))) ?? []
  return wrong === undefined
    ? Either.void
    : invalid(`\`headers\` of ${name}: ${wrong} must have at most ${maximumHeaderLength} printable ASCII characters.`)
}

/**
 * Returns the servers that replace an agent's stored ones. A secret is kept only for the address that it was set for.
 */
export const changeMcpServers = (
  stored: ReadonlyArray<McpServer>,
  requested: ReadonlyArray<McpServerInput>,
  { httpsOnly }: { readonly httpsOnly: boolean }
): Either.Either<ReadonlyArray<McpServer>, McpServersInvalid> => {
  if (requested.length > maximumMcpServers) return invalid(`An agent has at most ${maximumMcpServers} MCP servers.`)
  const duplicate = requested.find(({ name }, at) => requested.findIndex((other) => other.name === name) !== at)
  if (duplicate !== undefined) return invalid(`The name ${duplicate.name} is given twice.`)
  return Either.all(
    requested.map((server) =>
      Either.gen(function* () {
        const { name } = server
        const before = stored.find((server) => server.name === name)
        const url = yield* restoreUrl(name, yield* checkUrl(server, httpsOnly), before?.url)
        const storedHeaders = before?.headers ?? {}
        if (server.headers === undefined && before?.url !== url && Object.keys(storedHeaders).length > 0)
          return yield* invalid(`Give \`headers\` of ${name} again, since its \`url\` changes.`)
        const headers = server.headers ?? storedHeaders
        yield* checkHeaders(name, headers)
        return { name, url, headers }
      })
    )
  )
}

/** Removes the values of a server's headers and query from a text, since a server can repeat them. */
export const redactMcpSecrets = (
  { headers, url: address }: Pick<McpServer, "headers" | "url">,
  text: string
): string => {
  const url = new URL(address)
  return Object.values(headers)
    .flatMap((value) => [Redacted.value(value), Redacted.value(value).replace(/^\S+\s+/, "")])
    .concat([...url.searchParams.values()].flatMap((value) => [value, encodeURIComponent(value)]))
    .concat(splitQuery(url).map(({ value }) => value))
    .filter((value) => value.length >= 4)
    .sort((a, b) => b.length - a.length)
    .reduce((rest, value) => rest.replaceAll(value, "[redacted]"), text)
}
