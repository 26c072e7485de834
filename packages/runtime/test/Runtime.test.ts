import { AgentId } from "@berth/domain/shared/AgentId"
import { RuntimeAddress, RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import { type FakeBackend, makeFakeBackend } from "../../../test/fakes/FakeBackend.ts"
import { bundleRuntime } from "../../../test/support/RuntimeBundle.ts"
import { requestOverSocket } from "../../../test/support/SocketRequest.ts"
import { temporaryDirectory } from "../../../test/support/TemporaryDirectories.ts"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Deferred, Effect, Schedule, Schema } from "effect"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { readFile, readdir } from "node:fs/promises"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { sampleTurn } from "../../../test/support/SampleTurn.ts"

let program = ""

const decodeAddress = Schema.decodeUnknownSync(Schema.parseJson(RuntimeAddress))

/** The program as a process. */
const start = (backend: FakeBackend, extra: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const socket = join(yield* temporaryDirectory, "s")
    const end = yield* Deferred.make<number | null>()
    const output: Array<string> = []
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const env = {
          [RuntimeEnvironment.token]: "own",
          [RuntimeEnvironment.backendUrl]: backend.url,
          [RuntimeEnvironment.directory]: directory,
          [RuntimeEnvironment.socket]: socket,
          ...extra
        }
        const process_ = spawn(process.execPath, ["--max-semi-space-size=1", "--optimize-for-size", program], { env })
        process_.stdout.on("data", (chunk) => output.push(String(chunk)))
        process_.stderr.on("data", (chunk) => output.push(String(chunk)))
        process_.once("exit", (code) => Deferred.unsafeDone(end, Effect.succeed(code)))
        return process_
      }),
      (process_) => Effect.sync(() => process_.kill("SIGKILL"))
    )
    return { child, directory, end, log: () => output.join("") }
  })

const listening = (directory: string) =>
  Effect.sync(() => existsSync(join(directory, "runtime.json"))).pipe(
    Effect.repeat({ until: (there) => there, schedule: Schedule.spaced("5 millis") }),
    Effect.zipRight(Effect.promise(() => readFile(join(directory, "runtime.json"), "utf8"))),
    Effect.map(decodeAddress),
    Effect.timeout("30 seconds")
  )

const ask = (
  socket: string,
  method: string,
  path: string,
  body: unknown,
  traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
) =>
  requestOverSocket(
    socket,
    {
      method,
      path,
      headers: {
        authorization: "Bearer own",
        "content-type": "application/json",
        traceparent
      }
    },
    JSON.stringify(body)
  )

const agent = {
  id: "agt_1",
  name: "Ada",
  model: "openai/gpt-4",
  systemPrompt: "a private prompt",
  temperature: null,
  maxTokens: null,
  timezone: "UTC",
  skills: [],
  contextWindow: 128_000
}
const turn = { ...sampleTurn, message: "a private word" }

describe("The runtime program", () => {
  beforeAll(async () => {
    program = await bundleRuntime()
  })

  it.scopedLive("The runtime program is small, answers, logs no conversation, and exits with 0", () =>
    Effect.gen(function* () {
      const backend = yield* makeFakeBackend
      const { child, directory, end, log } = yield* start(backend)
      const { pid, socket } = yield* listening(directory)
      assert.strictEqual(pid, child.pid)
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), ["runtime.json"])
      const status = yield* Effect.promise(() => readFile(`/proc/${pid}/status`, "utf8").catch(() => ""))
      // Private memory; pages of the program file are shared by all instances.
      assert.isBelow(Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0), 50 * 1024)

      yield* ask(socket, "PUT", "/configuration", { agents: [agent] })
      assert.include(yield* ask(socket, "POST", "/turns", turn), "You said: a private word")
      child.kill("SIGTERM")
      assert.strictEqual(yield* Deferred.await(end), 0)
      assert.isFalse(existsSync(join(directory, "runtime.json")))

      const lines = log()
        .trim()
        .split("\n")
        .map((line) => Schema.decodeUnknownSync(Schema.parseJson(Schema.Unknown))(line))
      assert.containSubset(lines, [
        {
          level: "info",
          message: "Turn answered",
          agentId: "agt_1",
          sessionId: "chs_1",
          trace_id: "0af7651916cd43dd8448eb211c80319c"
        }
      ])
      assert.notInclude(log(), "private")
      assert.notInclude(log(), 'own"')
    })
  )

  it.scopedLive("The runtime program runs tools, logs nothing about them, and stays small", () =>
    Effect.gen(function* () {
      const backend = yield* makeFakeBackend
      const { directory, log } = yield* start(backend)
      const { pid, socket } = yield* listening(directory)
      const skill = {
        id: "all",
        description: "Everything.",
        instructions: "Use it.",
        tools: ["calculate", "write_file", "read_file", "remember", "fetch_web_page"]
      }
      yield* ask(socket, "PUT", "/configuration", { agents: [{ ...agent, skills: [skill] }] })
      const uses = [
        ["calculate", { expression: "0.1 + 0.2" }],
        ["write_file", { path: "private/note.md", content: "a private note" }],
        ["remember", { text: "a private fact" }],
        ["fetch_web_page", { url: `${backend.url}/private` }],
        ["private_tool", {}]
      ] as const
      backend.respondWith((call) => {
        if (call.request.messages.at(-1)?.role === "user")
          for (const [at, [name, args]] of uses.entries())
            call.send({ type: "tool-call", call: { id: `call_${at}`, name, arguments: JSON.stringify(args) } })
        else
          call.send({
            type: "delta",
            text: call.request.messages
              .slice(-5)
              .map(({ content }) => content)
              .join("|")
          })
        call.send({ type: "done", model: "m", provider: "p" })
        call.end()
      })
      const answer = yield* ask(socket, "POST", "/turns", turn)
      assert.include(
        answer,
        `0.3|The file is written.|It is noted.|${backend.url}/private is not on the public internet.`
      )
      assert.include(answer, "There is no tool of that name.")
      assert.isTrue(existsSync(join(directory, "agents", "agt_1", "files", "private", "note.md")))
      assert.deepStrictEqual(
        backend.memoryCalls.map(({ body }) => body),
        [{ agentId: AgentId.make("agt_1"), messageId: "msg_1", text: "a private fact" }]
      )

      for (let at = 0; at < 50; at += 1) yield* ask(socket, "POST", "/turns", { ...turn, messageId: `msg_${at}` })
      const status = yield* Effect.promise(() => readFile(`/proc/${pid}/status`, "utf8").catch(() => ""))
      assert.isBelow(Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0), 60 * 1024)

      const lines = log()
        .trim()
        .split("\n")
        .map((line) =>
          Schema.decodeUnknownSync(Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown })))(line)
        )
      for (const line of lines)
        assert.deepStrictEqual([typeof line["level"], typeof line["message"]], ["string", "string"])
      const used = lines.filter(({ message }) => message === "Tool finished").slice(0, 5)
      assert.lengthOf(
        used.map(({ agentId, outcome, tool }) => ({ agentId, outcome, tool })),
        5
      )
      for (const [tool, outcome] of [
        ["calculate", "ok"],
        ["write_file", "ok"],
        ["remember", "ok"],
        ["fetch_web_page", "refused"],
        ["unknown", "unknown"]
      ])
        assert.isTrue(
          used.some((line) => line["agentId"] === "agt_1" && line["tool"] === tool && line["outcome"] === outcome),
          tool
        )
      for (const line of used) assert.strictEqual(typeof line["durationMs"], "number")
      assert.notInclude(log(), "private")
    })
  )

  it.scopedLive("The runtime program relays the spans of recorded traces through the backend, and no others", () =>
    Effect.gen(function* () {
      const backend = yield* makeFakeBackend
      const { child, directory, end } = yield* start(backend)
      const { socket } = yield* listening(directory)
      yield* ask(socket, "PUT", "/configuration", { agents: [agent] })
      yield* ask(socket, "POST", "/turns", turn)
      yield* ask(socket, "POST", "/turns", turn, "00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-00")
      child.kill("SIGTERM")
      assert.strictEqual(yield* Deferred.await(end), 0)
      const spans = backend.spans.map(({ span }) => span)
      // One trace, from the caller to the model.
      assert.deepStrictEqual([...new Set(spans.map(({ traceId }) => traceId))], ["0af7651916cd43dd8448eb211c80319c"])
      assert.deepStrictEqual(
        backend.calls.map(({ traceparent }) => traceparent?.replace(/-[0-9a-f]{16}-/, "-*-")),
        ["00-0af7651916cd43dd8448eb211c80319c-*-01", "00-0af7651916cd43dd8448eb211c80319d-*-00"]
      )
      const turnSpan = spans.find(({ name }) => name === "TurnExecution.answer")
      assert.containSubset(turnSpan, {
        kind: "internal",
        exit: { type: "success" },
        attributes: [
          ["gen_ai.operation.name", "invoke_agent"],
          ["gen_ai.provider.name", "openai"],
          ["gen_ai.request.model", "gpt-4"],
          ["gen_ai.agent.name", "Ada"],
          ["gen_ai.agent.id", "agt_1"],
          ["gen_ai.conversation.id", "chs_1"]
        ]
      })
      assert.containSubset(
        spans.find(({ spanId }) => spanId === turnSpan?.parentSpanId),
        {
          kind: "server",
          parentSpanId: "b7ad6b7169203331",
          attributes: [
            ["http.request.method", "POST"],
            ["http.route", "/turns"],
            ["url.path", "/turns"],
            ["url.scheme", "http"],
            ["http.response.status_code", 200]
          ]
        }
      )
      assert.containSubset(
        spans.find(({ name }) => name === "ModelClient.answer"),
        { parentSpanId: turnSpan?.spanId }
      )
      for (const { token, traceparent } of backend.spans) {
        assert.strictEqual(token, "own")
        assert.match(traceparent, /-00$/)
      }
      const all = JSON.stringify(spans)
      assert.notInclude(all, "private")
      assert.notInclude(all, "Bearer own")
    })
  )

  it.scopedLive("The runtime program does not wait for open connections at its end", () =>
    Effect.gen(function* () {
      const { child, directory, end } = yield* start(yield* makeFakeBackend)
      const { socket } = yield* listening(directory)
      yield* Effect.acquireRelease(
        Effect.async<Socket>((resume) => {
          const connection = connect(socket, () => {
            connection.write("POST /turns HTTP/1.1\r\nhost: x\r\n", () => resume(Effect.succeed(connection)))
          })
          connection.on("error", () => connection.destroy())
        }),
        (connection) => Effect.sync(() => connection.destroy())
      )
      child.kill("SIGTERM")
      assert.strictEqual(yield* Deferred.await(end).pipe(Effect.timeout("30 seconds")), 0)
    })
  )

  it.scopedLive("The runtime program exits above its memory limit", () =>
    Effect.gen(function* () {
      const { end, log } = yield* start(yield* makeFakeBackend, { [RuntimeEnvironment.memoryMb]: "10" })
      assert.strictEqual(yield* Deferred.await(end).pipe(Effect.timeout("30 seconds")), 1)
      assert.include(log(), "above its limit of 10 MB")
    })
  )

  it.scopedLive("The runtime program names missing variables and exits", () =>
    Effect.gen(function* () {
      const { end, log } = yield* start(yield* makeFakeBackend, {
        [RuntimeEnvironment.backendUrl]: "nonsense",
        [RuntimeEnvironment.token]: ""
      })
      assert.strictEqual(yield* Deferred.await(end).pipe(Effect.timeout("30 seconds")), 1)
      assert.include(log(), RuntimeEnvironment.backendUrl)
      assert.include(log(), RuntimeEnvironment.token)
    })
  )
})
