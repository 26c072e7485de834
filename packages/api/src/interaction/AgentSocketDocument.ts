import { JSONSchema, SchemaAST } from "effect"
import {
  bearerProtocolPrefix,
  ClientFrame,
  FrameErrorBody,
  maximumFrameBytes,
  ServerFrame,
  SocketClose,
  socketProtocol
} from "./AgentSocketFrames.ts"

export const agentSocketDocumentPath = "/asyncapi.json"

/** A frame in the document. Examples are typed, so that a changed schema causes a compile error. */
interface Described<Frame> {
  readonly summary: string
  readonly examples: readonly [Frame, ...ReadonlyArray<Frame>]
}
type DescribedFrames<Frame extends { readonly type: string }> = {
  readonly [Type in Frame["type"]]: Described<Extract<Frame, { readonly type: Type }>>
}

const messageId = "msg_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b"
const sessionId = "chs_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b"

export const clientFrames: DescribedFrames<typeof ClientFrame.Encoded> = {
  chat: {
    summary: "Sends a message to the agent. The server responds with `accepted` or `error` with the same `id`",
    examples: [
      { type: "chat", id: "1", message: "Hello" },
      { type: "chat", message: "And then?", sessionId }
    ]
  },
  resume: {
    summary: "Repeats the events of an answer after an event, including one of another connection or route",
    examples: [{ type: "resume", lastEventId: `${messageId}:2` }]
  },
  ping: { summary: "Requests `pong`; the server pings idle clients itself", examples: [{ type: "ping" }] }
}

export const serverFrames: DescribedFrames<typeof ServerFrame.Encoded> = {
  status: {
    summary: "Status of the agent: the first frame, and again at each change",
    examples: [{ type: "status", status: "running" }]
  },
  accepted: {
    summary: "The message is stored; its answer follows. `id` is that of the `chat` frame",
    examples: [{ type: "accepted", id: "1", messageId, sessionId }]
  },
  delta: {
    summary: "A part of the answer. `id` is the event's id, for `resume`",
    examples: [{ type: "delta", id: `${messageId}:1`, text: "Good " }]
  },
  tool: {
    summary: "A tool call of the answer: first `running`, then with its result. `id` is the event's id, for `resume`",
    examples: [
      {
        type: "tool",
        id: `${messageId}:2`,
        call: {
          id: "0.0",
          name: "calculate",
          arguments: '{"expression":"17*23"}',
          status: "succeeded",
          result: "391"
        }
      }
    ]
  },
  done: {
    summary: "The complete answer, its model, price and duration; the text so far if it was stopped",
    examples: [
      {
        type: "done",
        id: `${messageId}:3`,
        sessionId,
        reply: "Good morning!",
        timestamp: 1_736_000_000_000,
        model: "openai/gpt-4o-mini",
        provider: "openai",
        units: 1,
        costMicros: 240,
        durationMs: 1_850
      }
    ]
  },
  error: {
    summary:
      "The answer failed, with the `id` of its last event, or a frame was rejected, with the `id` of the frame if it has one; the socket stays open. `x-codes` lists the codes",
    examples: [
      {
        type: "error",
        id: "1",
        code: "units_exhausted",
        error: "Payment required",
        message: "Your units of today are used up.",
        traceId: "0af7651916cd43dd8448eb211c80319c"
      }
    ]
  },
  pong: { summary: "Response to `ping`", examples: [{ type: "pong" }] }
}

const closings: { readonly [Name in keyof typeof SocketClose]: string } = {
  goingAway: "The server stops. Connect again, and resume answers",
  unsupported: "The client sent a binary frame",
  tooFast: "The client sends frames faster than they are handled",
  tooSlow: "The client does not read. Connect again, and resume answers",
  unauthorized: "The session, API key or gateway token ended",
  gone: "The agent was deleted"
}

/** Close codes with reasons, including those of RFC 6455. */
const closeCodes = [
  ...Object.entries(closings).map(([name, reason]) => ({
    code: Object.entries(SocketClose).find(([known]) => known === name)?.[1] ?? 1000,
    reason
  })),
  { code: 1002, reason: "A frame violates RFC 6455" },
  { code: 1006, reason: "No close frame: the client was silent or did not read, or the connection broke" },
  { code: 1007, reason: "A frame is not UTF-8" },
  { code: 1009, reason: `A frame is larger than ${maximumFrameBytes} bytes` }
].toSorted((a, b) => a.code - b.code)

const handshakeErrors = [
  { status: 401, reason: "No credential, or an invalid one" },
  { status: 403, reason: "An API key without the scope `chat`, or a page of another origin" },
  { status: 404, reason: "No agent of the caller has this id" },
  { status: 426, reason: "The request is not a WebSocket handshake of version 13" },
  { status: 429, reason: "The user has too many open sockets" }
]

const schemaPath = "#/components/schemas/"
type Definitions = Record<string, JSONSchema.JsonSchema7>

interface FrameSchema {
  readonly ast: SchemaAST.AST
  readonly fields: { readonly type: { readonly literals: ReadonlyArray<string> } }
}

const makeMessages = (
  frames: Readonly<Record<string, Described<unknown>>>,
  schemas: ReadonlyArray<FrameSchema>,
  definitions: Definitions
) =>
  Object.fromEntries(
    schemas.flatMap(({ ast, fields }) =>
      fields.type.literals.map((name) => [
        name,
        {
          name,
          summary: frames[name]?.summary,
          contentType: "application/json",
          payload: JSONSchema.fromAST(ast, { definitions, definitionPath: schemaPath, target: "jsonSchema7" }),
          examples: frames[name]?.examples.map((payload) => ({ payload }))
        }
      ])
    )
  )

export const frameErrorCodes: ReadonlyArray<string> = FrameErrorBody.members.flatMap(({ ast }) =>
  SchemaAST.getPropertySignatures(SchemaAST.encodedAST(ast)).flatMap(({ name, type }) =>
    name === "code" && SchemaAST.isLiteral(type) ? [String(type.literal)] : []
  )
)

interface AgentSocketDocumentOptions {
  readonly appUrl: URL
  readonly cookieName: string
  /** Parent domain of instances' subdomains. */
  readonly agentsDomain: string
  readonly limits: {
    readonly perUser: number
    readonly answers: number
    readonly framesAhead: number
    readonly bufferedBytes: number
    readonly heartbeatSeconds: number
  }
}

const security = ["session", "bearer"].map((name) => ({ $ref: `#/components/securitySchemes/${name}` }))

/** Describes the agents' WebSocket in AsyncAPI 3, from the schemas of its frames. */
export const makeAgentSocketDocument = ({ agentsDomain, appUrl, cookieName, limits }: AgentSocketDocumentOptions) => {
  const definitions: Definitions = {}
  const protocol = appUrl.protocol === "https:" ? "wss" : "ws"
  const port = appUrl.port === "" ? "" : `:${appUrl.port}`
  const received = makeMessages(clientFrames, ClientFrame.members, definitions)
  const sent = makeMessages(serverFrames, ServerFrame.members, definitions)
  const refer = (names: ReadonlyArray<string>, to: string) => names.map((name) => ({ $ref: `${to}${name}` }))
  const ofChannel = "#/channels/agent/messages/"
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Berth agents over WebSocket",
      version: "1.0.0",
      license: { name: "MIT" },
      description: [
        "One JSON object per text frame, discriminated by `type`. Costs, limits and error codes are those of `POST /api/agent`, which `/openapi.json` describes.",
        `Authentication: the session cookie, or \`Authorization: Bearer\` with the gateway token of the agent's instance or an API key with the scope \`chat\`. Clients that cannot set headers offer the subprotocols \`${socketProtocol}\` and \`${bearerProtocolPrefix}<gateway token>\`, or send \`?token=<gateway token>\`. Browsers connect from pages of the same origin only.`,
        "Resume: every event of an answer has an `id`. After a lost connection, `resume` with the last received one sends the following events; they are kept for minutes after the answer, then one `done` with the whole reply."
      ].join("\n\n")
    },
    defaultContentType: "application/json",
    servers: {
      app: { host: appUrl.host, protocol, security },
      instance: {
        host: `{subdomain}.${agentsDomain}${port}`,
        protocol,
        description: "Subdomain of the owner's instance",
        variables: { subdomain: { description: "`subdomain` of `GET /api/agents/{id}`" } },
        security
      }
    },
    channels: {
      agent: {
        address: "/agents/{agentId}/ws",
        parameters: { agentId: { description: "Id of one of the caller's agents" } },
        messages: Object.fromEntries(
          [...Object.keys(received), ...Object.keys(sent)].map((name) => [
            name,
            { $ref: `#/components/messages/${name}` }
          ])
        ),
        bindings: {
          ws: {
            method: "GET",
            query: { type: "object", properties: { token: { type: "string", description: "A gateway token" } } },
            bindingVersion: "0.1.0"
          }
        },
        "x-close-codes": closeCodes,
        "x-handshake-errors": handshakeErrors,
        "x-limits": { frameBytes: maximumFrameBytes, ...limits }
      }
    },
    operations: {
      receive: {
        action: "receive",
        channel: { $ref: "#/channels/agent" },
        summary: "Frames of the client",
        messages: refer(Object.keys(received), ofChannel)
      },
      send: {
        action: "send",
        channel: { $ref: "#/channels/agent" },
        summary: "Frames of the server",
        messages: refer(Object.keys(sent), ofChannel)
      }
    },
    components: {
      messages: { ...received, ...sent, error: { ...sent["error"], "x-codes": frameErrorCodes } },
      schemas: definitions,
      securitySchemes: {
        session: { type: "httpApiKey", in: "cookie", name: cookieName, description: "The session cookie" },
        bearer: { type: "http", scheme: "bearer", description: "A gateway token, or an API key with the scope `chat`" }
      }
    }
  }
}
