import { describeSpan, toConventionalKind } from "@berth/infra/telemetry/SpanConventions"
import { summarizeSql } from "@berth/infra/telemetry/SqlSummary"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Exit, FiberId, type Tracer } from "effect"

class AgentNotFound extends Data.TaggedError("AgentNotFound") {}
class QueueUnavailable extends Data.TaggedError("QueueUnavailable") {}
class JobPostponed extends Data.TaggedError("JobPostponed") {}
class SqlError extends Data.TaggedError("SqlError")<{ readonly cause: unknown }> {}

interface Given {
  readonly name?: string
  readonly kind?: Tracer.SpanKind
  readonly attributes?: Readonly<Record<string, unknown>>
  readonly exit?: Exit.Exit<unknown, unknown>
}

const describeGiven = ({ attributes = {}, exit = Exit.void, kind = "internal", name = "Agents.provision" }: Given) =>
  describeSpan({ name, kind, attributes: new Map(Object.entries(attributes)), exit })

const request = { "http.request.method": "POST", "http.route": "/api/agents/:id" }

describe("names", () => {
  const names: ReadonlyArray<readonly [string, Given]> = [
    ["Agents.provision", {}],
    ["POST /api/agents/:id", { kind: "server", attributes: request }],
    ["GET", { kind: "server", attributes: { "http.request.method": "GET", "http.route": "*", "url.path": "/x" } }],
    ["HTTP", { kind: "server", attributes: { "http.request.method": "EVIL" } }],
    ["POST", { kind: "client", attributes: { "http.request.method": "POST", "url.full": "https://a.b/c" } }],
    [
      "SELECT sessions users",
      { kind: "client", attributes: { "db.query.text": "select a from sessions join users on 1" } }
    ],
    [
      "process provision",
      {
        kind: "consumer",
        attributes: { "messaging.operation.name": "process", "messaging.destination.name": "provision" }
      }
    ],
    [
      "send tasks",
      { kind: "producer", attributes: { "messaging.operation.name": "send", "messaging.destination.name": "tasks" } }
    ],
    [
      "chat gpt-4o-mini",
      { kind: "client", attributes: { "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini" } }
    ],
    ["execute_tool clock", { attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "clock" } }],
    ["invoke_agent Ada", { attributes: { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Ada" } }],
    ["invoke_agent", { attributes: { "gen_ai.operation.name": "invoke_agent" } }]
  ]
  for (const [name, sample] of names)
    it(`A ${sample.kind ?? "internal"} span is named ${name}`, () => {
      assert.strictEqual(describeGiven(sample).name, name)
    })

  it("A transaction is an internal span", () => {
    assert.strictEqual(toConventionalKind("sql.transaction", "client"), "internal")
    assert.strictEqual(toConventionalKind("sql.execute", "client"), "client")
  })
})

describe("summaries of statements", () => {
  const summaries: ReadonlyArray<readonly [string, string, string | undefined]> = [
    ["select 1", "SELECT", undefined],
    ["/* prepared */ select id from sessions where id = $1", "SELECT sessions", "sessions"],
    ["insert into users (id) values ($1) on conflict (id) do update set id = 'update x'", "INSERT users", "users"],
    ["delete from outbox where published_at < now()", "DELETE outbox", "outbox"],
    ["update agents set name = $1 from users where true", "UPDATE agents users", undefined],
    ["select id from jobs order by id limit 1 for update of jobs skip locked", "SELECT jobs", "jobs"],
    ["select extract(epoch from at) from turns where a is distinct from b", "SELECT turns", "turns"],
    [
      "with a as (insert into outbox (id) values ($1) returning 1) select pg_notify($2, '') from a",
      "INSERT outbox",
      "outbox"
    ],
    ["select x from unnest($1::text[]) as given(x) cross join lateral (select 1) y", "SELECT", undefined],
    ["BEGIN", "BEGIN", undefined]
  ]
  for (const [query, text, collection] of summaries)
    it(`The summary of "${query.slice(0, 50)}" is ${text}`, () => {
      assert.deepInclude(summarizeSql(query), { text, collection })
    })
})

describe("attributes", () => {
  it("A server span has no headers, no full URL and no values of the query", () => {
    const { attributes } = describeGiven({
      kind: "server",
      attributes: {
        ...request,
        "url.full": "http://h/api?token=hunter2",
        "url.path": "/api",
        "url.query": "token=hunter2&x",
        "http.request.header.authorization": "hunter2",
        "http.request.header.user-agent": "curl/8"
      }
    })
    assert.deepStrictEqual(attributes, {
      ...request,
      "url.path": "/api",
      "url.query": "token=REDACTED&x",
      "user_agent.original": "curl/8"
    })
  })

  it("An attribute outside of the registry's namespaces is in the namespace berth", () => {
    const attributes = {
      limit: 3,
      "agent.id": "agt_1",
      "card.event_type": "paid",
      agentId: "agt_1",
      "user.id": "usr_1",
      "berth.cost.usd": 1,
      "gen_ai.agent.id": "agt_1"
    }
    assert.deepStrictEqual(describeGiven({ attributes }).attributes, {
      "berth.limit": 3,
      "berth.agent.id": "agt_1",
      "berth.card.event_type": "paid",
      "berth.agent_id": "agt_1",
      "user.id": "usr_1",
      "berth.cost.usd": 1,
      "gen_ai.agent.id": "agt_1"
    })
  })

  it("A client span has a host as its server and no secrets in its URL", () => {
    const { attributes } = describeGiven({
      kind: "client",
      attributes: {
        "http.request.method": "GET",
        "server.address": "https://api.example.com",
        "url.full": "https://me:hunter2@api.example.com/a?key=hunter2#hunter2"
      }
    })
    assert.deepInclude(attributes, {
      "server.address": "api.example.com",
      "url.full": "https://REDACTED@api.example.com/a?key=REDACTED"
    })
  })

  it("A client span of an origin without a port has the port of its scheme", () => {
    const portOf = (origin: string) =>
      describeGiven({ kind: "client", attributes: { "http.request.method": "GET", "server.address": origin } })
        .attributes["server.port"]
    assert.strictEqual(portOf("https://api.example.com"), 443)
    assert.strictEqual(portOf("http://api.example.com"), 80)
    assert.isUndefined(portOf(`http://${Buffer.from("/socket").toString("hex")}.unix`))
  })

  it("A client span of a Unix socket has the path as its server, and no port", () => {
    const { attributes } = describeGiven({
      kind: "client",
      attributes: {
        "http.request.method": "POST",
        "server.address": `${Buffer.from("/tmp/berth/socket").toString("hex")}.unix`,
        "server.port": 80
      }
    })
    assert.deepStrictEqual(attributes, { "http.request.method": "POST", "server.address": "/tmp/berth/socket" })
  })

  it("A database span keeps its port over a Unix socket, whose name has it", () => {
    const server = { "server.address": "/data/postgres/cluster", "server.port": 5432 }
    const { attributes } = describeGiven({ kind: "client", attributes: { "db.query.text": "select 1", ...server } })
    assert.deepInclude(attributes, server)
  })

  it("A database span has its summary, operation and collection instead of the driver's method", () => {
    const { attributes } = describeGiven({
      name: "sql.execute",
      kind: "client",
      attributes: {
        "db.query.text": "select id\n  from sessions",
        "db.operation.name": "execute",
        "db.namespace": "berth"
      }
    })
    assert.deepStrictEqual(attributes, {
      "db.query.text": "select id from sessions",
      "db.query.summary": "SELECT sessions",
      "db.operation.name": "SELECT",
      "db.collection.name": "sessions",
      "db.namespace": "berth"
    })
  })
})

describe("status", () => {
  const status = (code: number) => ({ ...request, "http.response.status_code": code })
  const cases: ReadonlyArray<
    readonly [title: string, given: Given, isError: boolean, errorType: string | undefined, refusal?: string]
  > = [
    ["A success has no error", {}, false, undefined],
    ["A server's 404 is no error", { kind: "server", attributes: status(404) }, false, undefined],
    ["A server's 503 is an error", { kind: "server", attributes: status(503) }, true, "503"],
    ["A client's 404 is an error", { kind: "client", attributes: status(404) }, true, "404"],
    ["A refusal is no error", { exit: Exit.fail(new AgentNotFound()) }, false, undefined, "AgentNotFound"],
    ["A failure of infrastructure is an error", { exit: Exit.fail(new QueueUnavailable()) }, true, "QueueUnavailable"],
    ["A failed job is an error", { kind: "consumer", exit: Exit.fail(new AgentNotFound()) }, true, "AgentNotFound"],
    [
      "A postponed job is no error",
      { kind: "consumer", exit: Exit.fail(new JobPostponed()) },
      false,
      undefined,
      "JobPostponed"
    ],
    ["A defect is an error", { exit: Exit.die(new TypeError("broken")) }, true, "TypeError"],
    [
      "A defect that became a refusal is no error",
      { kind: "server", attributes: status(413), exit: Exit.die("x") },
      false,
      undefined
    ],
    [
      "A response that breaks off after its head is an error",
      { kind: "server", attributes: status(200), exit: Exit.die(new TypeError("broken")) },
      true,
      "TypeError"
    ],
    ["An interruption is no error", { exit: Exit.failCause(Cause.interrupt(FiberId.none)) }, false, undefined],
    [
      "A failed statement has its SQLSTATE",
      { kind: "client", exit: Exit.fail(new SqlError({ cause: { code: "23505" } })) },
      true,
      "23505"
    ]
  ]
  for (const [title, sample, isError, errorType, refusal] of cases)
    it(title, () => {
      const described = describeGiven(sample)
      assert.strictEqual(described.isError, isError)
      assert.strictEqual(described.attributes["error.type"], errorType)
      assert.strictEqual(described.attributes["berth.refusal"], refusal)
    })

  it("An exception is recorded with its frames and without secrets", () => {
    const { exception } = describeGiven({
      exit: Exit.die(new Error("no reply from postgres://berth:hunter2@db/x?password=hunter2 by Bearer hunter2hunter2"))
    })
    assert.strictEqual(exception?.type, "Error")
    assert.include(exception?.message, "no reply from postgres://REDACTED@db/x?password=REDACTED by Bearer REDACTED")
    assert.match(exception?.stacktrace ?? "", /^\s+at /)
    assert.notInclude(JSON.stringify(exception), "hunter2")
  })

  it("A long message of an exception is cut before secrets are searched in it", () => {
    const message = "a.".repeat(100_000)
    const { exception } = describeGiven({ exit: Exit.die(new Error(message)) })
    assert.strictEqual(exception?.message, message.slice(0, 4096))
  }, 5_000)
})
