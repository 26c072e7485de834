import type { CollectedSpan } from "../fakes/FakeOtelCollector.ts"

const resource = ["service.name", "service.namespace", "service.version", "service.instance.id", "berth.role"]

/** Required attributes and the name of a span by its convention; none for internal spans. */
const findConvention = ({ attributes: spanAttributes, kind }: CollectedSpan) => {
  const join = (...keys: ReadonlyArray<string>) => keys.flatMap((key) => spanAttributes[key] ?? []).join(" ")
  if (kind === "server")
    return {
      name: join("http.request.method", "http.route"),
      required: ["http.request.method", "http.route", "url.path", "url.scheme", "http.response.status_code"]
    }
  if (kind === "producer" || kind === "consumer")
    return {
      name: join("messaging.operation.name", "messaging.destination.name"),
      required: ["messaging.system", "messaging.operation.type", "messaging.message.id"]
    }
  if (kind === "client" && "http.request.method" in spanAttributes)
    return {
      name: join("http.request.method"),
      // A Unix socket has no port.
      required: [
        "server.address",
        ...(String(spanAttributes["server.address"]).startsWith("/") ? [] : ["server.port"]),
        "url.full",
        "http.response.status_code"
      ]
    }
  if (kind === "client" && "db.system.name" in spanAttributes)
    return {
      name: join("db.query.summary"),
      required: ["db.system.name", "db.namespace", "db.query.text", "db.query.summary", "server.address", "server.port"]
    }
  if (kind === "client")
    return {
      name: join("gen_ai.operation.name", "gen_ai.request.model"),
      required: [
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.response.model",
        "gen_ai.response.finish_reasons",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens"
      ]
    }
  if (spanAttributes["gen_ai.operation.name"] === "invoke_agent")
    return {
      name: join("gen_ai.operation.name", "gen_ai.agent.name"),
      required: [
        "gen_ai.provider.name",
        "gen_ai.agent.id",
        "gen_ai.agent.name",
        "gen_ai.conversation.id",
        "gen_ai.request.model"
      ]
    }
  return undefined
}

const isInternalName = (name: string) => name === "sql.transaction" || /^[A-Z][A-Za-z\d]*\.[a-z][A-Za-z\d]*$/.test(name)

/** Kinds of the remote parents of spans. */
const callers: Readonly<Record<string, string>> = { server: "client", consumer: "producer" }

/**
 * Faults of one complete trace without failures by the semantic conventions: names, kinds, parents, status and
 * required attributes. `root` is the caller's span.
 */
export const lintTrace = (spans: ReadonlyArray<CollectedSpan>, root: string): ReadonlyArray<string> => {
  const byId = new Map(spans.map((span) => [span.spanId, span]))
  return spans.flatMap((span) => {
    const { attributes, kind, links, name, parentSpanId, service } = span
    const parent = byId.get(parentSpanId ?? "")
    const convention = findConvention(span)
    const caller = callers[kind]
    const faults = [
      ...(parent === undefined && parentSpanId !== root ? ["has no parent in its trace"] : []),
      ...(parent !== undefined && parent.service !== service && caller === undefined
        ? ["begins in another program, but is no server or consumer"]
        : []),
      ...(parent !== undefined && caller !== undefined && parent.kind !== caller
        ? [`has no ${caller} as its parent`]
        : []),
      ...(kind === "consumer" && !links.some(({ spanId }) => spanId === parentSpanId)
        ? ["has no link to its message"]
        : []),
      ...(span.isError || "error.type" in attributes ? ["is an error"] : []),
      ...(convention === undefined && !isInternalName(name) ? ["is named by no convention"] : []),
      ...(convention === undefined || convention.name === name ? [] : [`is not named ${convention.name}`]),
      ...(convention?.required ?? []).filter((key) => !(key in attributes)).map((key) => `lacks ${key}`),
      ...resource.filter((key) => !(key in span.resource)).map((key) => `lacks ${key} of its resource`)
    ]
    return faults.map((fault) => `${service} ${kind} ${name} ${fault}`)
  })
}
