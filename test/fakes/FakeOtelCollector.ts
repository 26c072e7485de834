import { Effect, Schema } from "effect"
import { createServer } from "node:http"
import { exportedSpans, readMessage } from "./OtlpProtobuf.ts"

const Value = Schema.Struct({
  stringValue: Schema.optional(Schema.String),
  intValue: Schema.optional(Schema.Union(Schema.Number, Schema.String)),
  doubleValue: Schema.optional(Schema.Number),
  boolValue: Schema.optional(Schema.Boolean),
  arrayValue: Schema.optional(Schema.Unknown)
})
const Attributes = Schema.Array(Schema.Struct({ key: Schema.String, value: Value }))

/** The checked part of a POST to `/v1/traces`. */
const Export = Schema.Struct({
  resourceSpans: Schema.Array(
    Schema.Struct({
      resource: Schema.Struct({ attributes: Attributes }),
      scopeSpans: Schema.Array(
        Schema.Struct({
          spans: Schema.Array(
            Schema.Struct({
              name: Schema.String,
              traceId: Schema.String,
              spanId: Schema.String,
              parentSpanId: Schema.optional(Schema.String),
              kind: Schema.Number,
              attributes: Schema.optional(Attributes),
              status: Schema.optional(Schema.Struct({ code: Schema.optional(Schema.Number) })),
              links: Schema.optional(Schema.Array(Schema.Struct({ traceId: Schema.String, spanId: Schema.String }))),
              events: Schema.optional(Schema.Array(Schema.Struct({ name: Schema.String })))
            })
          )
        })
      )
    })
  )
})

type Primitive = string | number | boolean

export interface CollectedSpan {
  readonly service: string
  readonly resource: Readonly<Record<string, Primitive>>
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly kind: string
  readonly isError: boolean
  readonly attributes: Readonly<Record<string, Primitive>>
  readonly events: ReadonlyArray<string>
  readonly links: ReadonlyArray<{ readonly traceId: string; readonly spanId: string }>
}

interface CollectedRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: string
}

export interface FakeOtelCollector {
  readonly url: string
  readonly spans: () => ReadonlyArray<CollectedSpan>
  readonly requests: () => ReadonlyArray<CollectedRequest>
  /** The received bodies. */
  readonly bodies: () => string
  /** Status of later responses. Initially 200. */
  readonly answerWith: (status: number) => void
}

const decode = Schema.decodeUnknownSync(Export)

const kinds = ["unspecified", "internal", "server", "client", "producer", "consumer"]

const readValue = (value: typeof Value.Type): Primitive =>
  value.stringValue ??
  value.doubleValue ??
  value.boolValue ??
  (value.intValue === undefined ? JSON.stringify(value.arrayValue) : Number(value.intValue))

const readAttributes = (attributes: typeof Attributes.Type) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, readValue(value)]))

const spansIn = (body: unknown): ReadonlyArray<CollectedSpan> =>
  decode(body).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const from = readAttributes(resource.attributes)
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes = [], events = [], kind, links = [], name, parentSpanId, spanId, status, traceId }) => ({
        service: String(from["service.name"]),
        resource: from,
        name,
        traceId,
        spanId,
        parentSpanId: parentSpanId === "" ? undefined : parentSpanId,
        kind: kinds[kind] ?? "unspecified",
        isError: status?.code === 2,
        attributes: readAttributes(attributes),
        events: events.map((event) => event.name),
        links
      }))
    )
  })

/** Starts a fake OpenTelemetry collector for OTLP over HTTP, in JSON and in protobuf. */
export const makeFakeOtelCollector = Effect.acquireRelease(
  Effect.async<FakeOtelCollector & { readonly close: () => void }>((resume) => {
    const spans: Array<CollectedSpan> = []
    const requests: Array<CollectedRequest> = []
    let status = 200
    const server = createServer((request, response) => {
      const pieces: Array<Buffer> = []
      request.on("data", (piece: Buffer) => pieces.push(piece))
      request.on("end", () => {
        const bytes = Buffer.concat(pieces)
        const body = bytes.toString()
        requests.push({ path: request.url ?? "", headers: request.headers, body })
        if (request.url === "/v1/traces" && status < 300)
          spans.push(
            ...spansIn(
              request.headers["content-type"] === "application/x-protobuf"
                ? readMessage(bytes, exportedSpans)
                : JSON.parse(body)
            )
          )
        response.writeHead(status, { "content-type": "application/json" }).end("{}")
      })
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(
        Effect.succeed({
          url: `http://127.0.0.1:${port}`,
          spans: () => spans,
          requests: () => requests,
          bodies: () => requests.map(({ body }) => body).join("\n"),
          answerWith: (next) => {
            status = next
          },
          close: () => {
            server.close()
            server.closeAllConnections()
          }
        })
      )
    })
  }),
  ({ close }) => Effect.sync(close)
)
