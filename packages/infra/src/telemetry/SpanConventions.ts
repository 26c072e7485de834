import { isKnownMethod } from "@berth/api/http/HttpMethods"
import { redactQueryString, redactText } from "@berth/domain/shared/TextRedaction"
import { Cause, Exit, type Tracer } from "effect"
import { summarizeSql } from "./SqlSummary.ts"

/*
 * Names, attributes and status of spans by the OpenTelemetry semantic conventions (HTTP, database, messaging, GenAI),
 * derived from the name, attributes and exit of a span at its end.
 */

type Attributes = ReadonlyMap<string, unknown>
type AttributeValue = string | number | boolean | ReadonlyArray<string>

export interface SpanEnd {
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly attributes: Attributes
  readonly exit: Exit.Exit<unknown, unknown>
}

interface RecordedException {
  readonly type: string
  readonly message: string
  readonly stacktrace: string
}

interface ConventionalSpan {
  readonly name: string
  readonly attributes: Readonly<Record<string, AttributeValue>>
  /** False leaves the status unset. */
  readonly isError: boolean
  readonly exception: RecordedException | undefined
}

const maximumTextLength = 4096

const toText = (value: unknown): string =>
  typeof value === "string"
    ? value
    : value instanceof Date
      ? value.toISOString()
      : (JSON.stringify(value) ?? String(value))

export const toAttributeValue = (value: unknown): AttributeValue => {
  if (typeof value === "string") return value.slice(0, maximumTextLength)
  if (typeof value === "number" || typeof value === "boolean") return value
  if (typeof value === "bigint") return value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value)
  if (Array.isArray(value)) return value.map((item) => toText(item).slice(0, maximumTextLength))
  return toText(value).slice(0, maximumTextLength)
}

/** Namespaces in the registry of the semantic conventions, and Berth's. */
const namespaces =
  /^(?:berth|client|code|db|error|exception|gen_ai|http|messaging|network|otel|process|server|session|url|user|user_agent)\./

/** Returns the exported name of an attribute in snake case: in Berth's namespace unless it has a registered one. */
export const nameAttribute = (key: string): string =>
  namespaces.test(key) ? key : `berth.${key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`

const textOf = (attributes: Attributes, key: string): string | undefined => {
  const value = attributes.get(key)
  return typeof value === "string" && value !== "" ? value : undefined
}

const numberOf = (attributes: Attributes, key: string): number | undefined => {
  const value = attributes.get(key)
  return typeof value === "number" ? value : undefined
}

/** Route of the router; none for an unknown path. */
const routeOf = (attributes: Attributes): string | undefined => {
  const route = textOf(attributes, "http.route")
  return route === "*" || route === "/*" ? undefined : route
}

/** Returns the kind of a span: a transaction alone is not a database call. */
export const toConventionalKind = (name: string, kind: Tracer.SpanKind): Tracer.SpanKind =>
  name === "sql.transaction" ? "internal" : kind

const join = (...parts: ReadonlyArray<string | undefined>) => parts.filter((part) => part !== undefined).join(" ")

const nameSpan = ({ attributes, kind, name }: Omit<SpanEnd, "exit">): string => {
  const method = textOf(attributes, "http.request.method")
  if (method !== undefined && (kind === "server" || kind === "client")) {
    const verb = isKnownMethod(method) ? method : "HTTP"
    return kind === "server" ? join(verb, routeOf(attributes)) : join(verb, textOf(attributes, "url.template"))
  }
  const query = textOf(attributes, "db.query.text")
  if (query !== undefined) return summarizeSql(query).text || "postgresql"
  switch (textOf(attributes, "gen_ai.operation.name")) {
    case undefined:
      break
    case "execute_tool":
      return join("execute_tool", textOf(attributes, "gen_ai.tool.name"))
    case "invoke_agent":
      return join("invoke_agent", textOf(attributes, "gen_ai.agent.name"))
    default:
      return join(textOf(attributes, "gen_ai.operation.name"), textOf(attributes, "gen_ai.request.model"))
  }
  const operation = textOf(attributes, "messaging.operation.name")
  return operation === undefined ? name : join(operation, textOf(attributes, "messaging.destination.name"))
}

const isHeader = (key: string) => key.startsWith("http.request.header.") || key.startsWith("http.response.header.")

/** URLs of clients on Unix sockets have the path in hexadecimal digits as host. */
const socketHost = /^((?:[\da-f]{2})+)\.unix$/

/** `server.address` is a host or a socket's path; the platform's HTTP client sets an origin. */
const hostOf = (address: string) => {
  const host = URL.canParse(address) ? new URL(address).hostname || address : address
  const [, path] = socketHost.exec(host) ?? []
  return path === undefined ? host : Buffer.from(path, "hex").toString()
}

const defaultPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 }

/** Returns the port of the scheme of an origin without a port: the platform's HTTP client sets none. */
const defaultPortOf = (origin: string): number | undefined => {
  if (!URL.canParse(origin) || hostOf(origin).startsWith("/")) return undefined
  const { port, protocol } = new URL(origin)
  return port === "" ? defaultPorts[protocol] : undefined
}

const redactUrl = (text: string) => redactText(text.split("#", 1)[0] ?? "")

const readHttp = ({ attributes, kind }: SpanEnd): Record<string, AttributeValue> => {
  const method = textOf(attributes, "http.request.method")
  if (method === undefined) return {}
  const address = textOf(attributes, "server.address")
  const query = textOf(attributes, "url.query")
  const port = kind === "client" && address !== undefined ? defaultPortOf(address) : undefined
  const agent = textOf(attributes, "http.request.header.user-agent")
  return {
    ...(isKnownMethod(method)
      ? {}
      : { "http.request.method": "_OTHER", "http.request.method_original": method.slice(0, 32) }),
    ...(address === undefined ? {} : { "server.address": hostOf(address) }),
    ...(port === undefined ? {} : { "server.port": port }),
    ...(query === undefined ? {} : { "url.query": redactQueryString(query) }),
    ...(kind === "server" && agent !== undefined ? { "user_agent.original": agent.slice(0, 256) } : {})
  }
}

const readSql = ({ attributes }: SpanEnd): Record<string, AttributeValue> => {
  const query = textOf(attributes, "db.query.text")
  if (query === undefined) return {}
  const { collection, operation, text } = summarizeSql(query)
  return {
    "db.query.text": query.trim().replaceAll(/\s+/g, " ").slice(0, maximumTextLength),
    ...(text === "" ? {} : { "db.query.summary": text }),
    ...(operation === undefined ? {} : { "db.operation.name": operation }),
    ...(collection === undefined ? {} : { "db.collection.name": collection })
  }
}

/** Attributes of other conventions, and empty ones. */
const isDropped = ({ attributes, kind }: SpanEnd, key: string, value: unknown) =>
  isHeader(key) ||
  value === undefined ||
  value === null ||
  (key === "url.full" && kind === "server") ||
  (key === "url.query" && value === "") ||
  // The name of PostgreSQL's socket contains its port.
  (key === "server.port" &&
    !attributes.has("db.query.text") &&
    hostOf(textOf(attributes, "server.address") ?? "").startsWith("/")) ||
  (key === "db.operation.name" && attributes.has("db.query.text")) ||
  (key === "http.route" && routeOf(attributes) === undefined)

const describeAttributes = (end: SpanEnd): Record<string, AttributeValue> => {
  const attributes: Record<string, AttributeValue> = {}
  for (const [key, value] of end.attributes)
    if (!isDropped(end, key, value))
      attributes[nameAttribute(key)] = toAttributeValue(key === "url.full" ? redactUrl(toText(value)) : value)
  return { ...attributes, ...readHttp(end), ...readSql(end) }
}

/** Failures of infrastructure by the naming rule of errors; all other typed failures are refusals. */
const infrastructureFailure =
  /(?:Unavailable|Unreachable|Unresponsive|TimedOut|TimeoutException|ConnectionLost|ConnectionFailed|CallFailed|ProviderFailed|TurnFailed|ToolFailed|StartFailed|SpawnFailed|JobPermanentlyFailed|SqlError|RequestError|ResponseError)$/

const tagOf = (error: unknown): string => {
  if (typeof error === "object" && error !== null && "_tag" in error && typeof error._tag === "string")
    return error._tag
  return error instanceof Error ? error.name : typeof error
}

/** SQLSTATE of a failed statement. */
const sqlStateOf = (error: unknown): string | undefined => {
  const cause = typeof error === "object" && error !== null && "cause" in error ? error.cause : undefined
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** Describes a thrown value or a failure, without secrets. */
export const describeException = (error: unknown): RecordedException => {
  const thrown = error instanceof Error ? error : new Error(toText(error))
  return {
    type: tagOf(error),
    // The search for secrets takes quadratic time.
    message: redactText(thrown.message.slice(0, 2 * maximumTextLength)).slice(0, maximumTextLength),
    // Frames only, since the first lines repeat the message.
    stacktrace: (thrown.stack ?? "")
      .split("\n")
      .filter((line) => /^\s+at /.test(line))
      .join("\n")
      .slice(0, maximumTextLength)
  }
}

interface Judgment {
  readonly isError: boolean
  readonly errorType?: string
  /** Name of a typed failure that is an expected outcome. */
  readonly refusal?: string
  readonly sqlState?: string | undefined
  readonly exception?: RecordedException
}

const noError: Judgment = { isError: false }

const judgeStatus = (kind: Tracer.SpanKind, status: number): Judgment =>
  status < (kind === "client" ? 400 : 500) ? noError : { isError: true, errorType: String(status) }

/** Whether a typed failure is an error of the span. */
const isFailure = (kind: Tracer.SpanKind, tag: string) => {
  if (kind === "consumer") return tag !== "JobPostponed" && tag !== "JobUnsupported"
  return kind === "client" || kind === "producer" || infrastructureFailure.test(tag)
}

const judge = ({ attributes, exit, kind }: SpanEnd): Judgment => {
  const status = attributes.has("http.request.method") ? numberOf(attributes, "http.response.status_code") : undefined
  if (Exit.isSuccess(exit)) return status === undefined ? noError : judgeStatus(kind, status)
  const { cause } = exit
  if (Cause.isEmpty(cause) || Cause.isInterruptedOnly(cause)) return noError
  const defect = Cause.dieOption(cause)
  // With a status of a success, the response broke off after its head.
  if (defect._tag === "Some" && (status === undefined || status < 400 || status >= 500)) {
    const exception = describeException(defect.value)
    return { isError: true, errorType: exception.type, exception }
  }
  if (status !== undefined) return judgeStatus(kind, status)
  const error = Cause.squash(cause)
  const tag = tagOf(error)
  const sqlState = sqlStateOf(error)
  if (!isFailure(kind, tag)) return { isError: false, refusal: tag }
  return {
    isError: true,
    errorType: sqlState ?? tag,
    sqlState,
    exception: describeException(error)
  }
}

export const describeSpan = (end: SpanEnd): ConventionalSpan => {
  const { errorType, exception, isError, refusal, sqlState } = judge(end)
  return {
    name: nameSpan(end),
    attributes: {
      ...(errorType === undefined ? {} : { "error.type": errorType }),
      ...(refusal === undefined ? {} : { "berth.refusal": refusal }),
      ...(sqlState === undefined ? {} : { "db.response.status_code": sqlState }),
      ...describeAttributes(end)
    },
    isError,
    exception
  }
}
