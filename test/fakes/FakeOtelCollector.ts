import { Effect, Schema } from "effect"
import { createServer } from "node:http"

const Attributes = Schema.Array(Schema.Struct({ key: Schema.String, value: Schema.Unknown }))

/** The checked part of a POST to `/v1/traces`. */
const Export = Schema.Struct({
  resourceSpans: Schema.Array(
    Schema.Struct({
      resource: Schema.Struct({ attributes: Attributes }),
      scopeSpans: Schema.Array(
        Schema.Struct({
          spans: Schema.Array(Schema.Struct({ name: Schema.String, traceId: Schema.String, spanId: Schema.String }))
        })
      )
    })
  )
})

export interface CollectedSpan {
  readonly service: string
  readonly name: string
  readonly traceId: string
}

export interface FakeOtelCollector {
  readonly url: string
  readonly spans: () => ReadonlyArray<CollectedSpan>
  /** Every body as it came. */
  readonly bodies: () => string
}

const decode = Schema.decodeUnknownSync(Schema.parseJson(Export))
const decodeName = Schema.decodeUnknownSync(Schema.Struct({ stringValue: Schema.String }))

const spansIn = (body: string): ReadonlyArray<CollectedSpan> =>
  decode(body).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const named = resource.attributes.find(({ key }) => key === "service.name")
    const service = decodeName(named?.value).stringValue
    return scopeSpans.flatMap(({ spans }) => spans.map(({ name, traceId }) => ({ service, name, traceId })))
  })

/** Starts a fake OpenTelemetry collector for OTLP in JSON over HTTP. */
export const makeFakeOtelCollector = Effect.acquireRelease(
  Effect.async<FakeOtelCollector & { readonly close: () => void }>((resume) => {
    const spans: Array<CollectedSpan> = []
    const bodies: Array<string> = []
    const server = createServer((request, response) => {
      const pieces: Array<Buffer> = []
      request.on("data", (piece: Buffer) => pieces.push(piece))
      request.on("end", () => {
        const body = Buffer.concat(pieces).toString()
        bodies.push(body)
        if (request.url === "/v1/traces") spans.push(...spansIn(body))
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      })
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(
        Effect.succeed({
          url: `http://127.0.0.1:${port}`,
          spans: () => spans,
          bodies: () => bodies.join("\n"),
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
