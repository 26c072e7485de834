import { runtimeAgentsDirectory } from "@berth/api/runtime/RuntimeContract"
import { AgentId } from "@berth/domain/shared/AgentId"
import * as DockerEngine from "@berth/infra/instance-drivers/docker/DockerEngine"
import * as DockerInstanceDriver from "@berth/infra/instance-drivers/docker/DockerInstanceDriver"
import { EngineAddress } from "@berth/infra/instance-drivers/docker/EngineAddress"
import {
  EngineRequestRejected,
  EngineResponseMalformed,
  EngineUnreachable,
  EngineUnresponsive,
  isEngineFault,
  RuntimeImageMissing
} from "@berth/infra/instance-drivers/docker/EngineErrors"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { mkdir } from "node:fs/promises"
import { createServer, type IncomingMessage } from "node:http"
import { join } from "node:path"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import { ada, makeInstanceSpec, testDriver } from "./InstanceDriverHosts.ts"

interface EngineAnswer {
  readonly status?: number
  readonly body: unknown
  /** Breaks the connection within the body. */
  readonly isCut?: boolean
}

const image = { Id: "sha256:1", Config: { Env: ["NODE_VERSION=20.0.0"] } }
const missing: EngineAnswer = { status: 404, body: { message: "no such object" } }
const stopped = {
  Id: "c1",
  Image: "sha256:1",
  State: { Running: false, OOMKilled: false, ExitCode: 3, Error: "", Pid: 0, StartedAt: "2026-01-01T00:00:00Z" },
  Config: { User: "", Cmd: null, Entrypoint: null, Env: null, Labels: null },
  HostConfig: {},
  NetworkSettings: { Networks: {} }
}

/** The responses of an engine without containers, by call pattern. */
const honest: ReadonlyArray<readonly [RegExp, EngineAnswer]> = [
  [/^GET \/version$/, { body: { ApiVersion: "1.41" } }],
  [/^GET .*\/info$/, { body: { SecurityOptions: ["name=seccomp,profile=default"] } }],
  [/^GET .*\/images\/.*json$/, { body: image }],
  [/^POST .*\/volumes\/create$/, { body: { Name: "v", Mountpoint: "/nowhere", Labels: null } }],
  [/^GET .*\/volumes\//, { body: { Name: "v", Mountpoint: "/nowhere", Labels: null } }],
  [/^GET .*\/system\/df/, { body: { Volumes: [] } }],
  [/^POST .*\/containers\/create/, { body: { Id: "c1" } }],
  [/^GET .*\/containers\/c1\/json$/, { body: stopped }],
  [/^POST .*\/containers\/c1\/wait$/, { body: { StatusCode: 3 } }],
  [/^GET .*\/containers\/c1\/logs/, { body: "" }],
  [/^(POST|PUT|DELETE) /, { status: 204, body: "" }]
]

/** An engine on a Unix socket that responds by the first matching pattern. */
const openEngine = (answers: ReadonlyArray<readonly [RegExp, EngineAnswer]>) =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const path = join(directory, "docker.sock")
    const findAnswer = ({ method, url }: IncomingMessage) =>
      answers.find(([pattern]) => pattern.test(`${method} ${url}`))?.[1] ?? missing
    yield* Effect.acquireRelease(
      Effect.async<() => void>((resume) => {
        const server = createServer((request, response) => {
          request.resume()
          // The event stream of an idle engine.
          if (request.url?.includes("/events") === true) {
            response.writeHead(200).flushHeaders()
            return
          }
          const { body, isCut, status = 200 } = findAnswer(request)
          const text = typeof body === "string" ? body : JSON.stringify(body)
          if (isCut === true)
            response.writeHead(status, { "content-length": text.length + 100 }).write(text, () => response.destroy())
          else response.writeHead(status).end(text)
        })
        server.listen(path, () =>
          resume(
            Effect.succeed(() => {
              server.closeAllConnections()
              server.close()
            })
          )
        )
      }),
      (close) => Effect.sync(close)
    )
    return { directory, open: DockerEngine.make(EngineAddress.Socket({ path })) }
  })

const openDriver = (answers: ReadonlyArray<readonly [RegExp, EngineAnswer]>) =>
  Effect.gen(function* () {
    const { directory, open } = yield* openEngine([...answers, ...honest])
    return yield* DockerInstanceDriver.make({
      engine: yield* open,
      installation: "test",
      network: "test",
      image: "berth-runtime",
      directory,
      onClose: "leave"
    }).pipe(Effect.provide(UnixSocketClient.layer))
  })

describe("DockerEngine.make", () => {
  const notAnEngine =
    /^The response to GET \/version is not one of a Docker Engine with API 1\.41 or later \(.+\)\. Set DOCKER_HOST to the address of one, or update it\.$/
  const cases: ReadonlyArray<readonly [string, EngineAnswer, RegExp]> = [
    ["answers with a web page", { body: "<html>Welcome</html>" }, notAnEngine],
    ["answers with other JSON", { body: { ok: true } }, notAnEngine],
    ["is too old", { body: { ApiVersion: "1.40" } }, notAnEngine],
    ["breaks off", { body: { ApiVersion: "1.41" }, isCut: true }, /cannot be reached \(\w+\)\. Start it/],
    [
      "fails",
      { status: 500, body: "oh" },
      /rejected GET \/version \(500\): no reason given\. Read the log of the engine\.$/
    ]
  ]
  for (const [behavior, answer, expected] of cases)
    testDriver(`DockerEngine.make explains how to repair an engine that ${behavior}`, () =>
      Effect.gen(function* () {
        const { open } = yield* openEngine([[/version/, answer]])
        assert.match((yield* Effect.flip(open)).message, expected)
      })
    )
})

describe("DockerInstanceDriver on a faulty engine", () => {
  const create = /POST .*\/containers\/create/
  const inspect = /GET .*\/containers\/c1\/json/
  const full = { message: "write /var/lib/docker/tmp: no space left on device" }
  const taken = { message: 'Conflict. The container name "/berth" is already in use by container "x".' }
  const cases: ReadonlyArray<
    readonly [string, RegExp, EngineAnswer, "InstanceHostUnavailable" | "InstanceStartFailed", RegExp]
  > = [
    [
      "without the image",
      /images/,
      missing,
      "InstanceHostUnavailable",
      /not on the Docker Engine\. Build it with `npm run image`/
    ],
    [
      "with a full disk",
      create,
      { status: 500, body: full },
      "InstanceHostUnavailable",
      /^The disk of the Docker Engine is full\. Free space/
    ],
    [
      "that gives no id",
      create,
      { body: { Id: 5 } },
      "InstanceHostUnavailable",
      /containers\/create is not one of .* \(Id: Expected string/
    ],
    [
      "that answers with a web page",
      create,
      { body: "<html>" },
      "InstanceHostUnavailable",
      /containers\/create is not one of/
    ],
    ["that breaks off", create, { body: { Id: "c1" }, isCut: true }, "InstanceHostUnavailable", /cannot be reached/],
    [
      "that fails inside",
      create,
      { status: 500, body: "<html>" },
      "InstanceHostUnavailable",
      /\(500\): no reason given\. Read the log/
    ],
    [
      "with an impossible state",
      inspect,
      { body: { ...stopped, State: { ...stopped.State, StartedAt: "tomorrow" } } },
      "InstanceHostUnavailable",
      /\(State\.StartedAt: /
    ],
    ["that loses the container", inspect, missing, "InstanceStartFailed", /its container was removed/],
    [
      "where the name is taken",
      create,
      { status: 409, body: taken },
      "InstanceStartFailed",
      /already in use by container "x"\. Read the log/
    ],
    ["that starts nothing", /\/start$/, { status: 204, body: "" }, "InstanceStartFailed", /^exit code 3$/]
  ]
  for (const [behavior, call, answer, tag, reason] of cases)
    testDriver(`DockerInstanceDriver.start on an engine ${behavior} fails with ${tag}`, () =>
      Effect.gen(function* () {
        const driver = yield* openDriver([[call, answer]])
        const failure = yield* Effect.flip(driver.start(makeInstanceSpec(ada)))
        assert.strictEqual(failure._tag, tag)
        assert.match(failure.reason, reason)
        assert.notInclude(failure.reason, "\n")
        assert.strictEqual((yield* Effect.exit(driver.inspect(ada)))._tag, "Success")
      })
    )

  testDriver("DockerInstanceDriver.removeOtherAgents runs a task only where another agent has files", () =>
    Effect.gen(function* () {
      const volume = yield* temporaryDirectory
      const kept = AgentId.make("agt_kept")
      yield* Effect.promise(() => mkdir(join(volume, "home", runtimeAgentsDirectory, kept), { recursive: true }))
      const driver = yield* openDriver([
        [/^GET .*\/volumes\//, { body: { Name: "v", Mountpoint: volume, Labels: null } }],
        [create, { status: 500, body: { message: "a task was created" } }]
      ])
      yield* driver.removeOtherAgents(ada, [kept])
      assert.include((yield* Effect.flip(driver.removeOtherAgents(ada, []))).reason, "a task was created")
    })
  )

  it("isEngineFault blames the engine for everything but a request that it rejects for its content", () => {
    const operation = "GET /info"
    const errors = [
      new EngineUnreachable({ address: "unix:///docker.sock", reason: "ENOENT" }),
      new EngineUnresponsive({ address: "unix:///docker.sock", operation, within: Duration.seconds(10) }),
      new EngineResponseMalformed({ operation, reason: "Id: is missing" }),
      new RuntimeImageMissing({ image: "berth-runtime" }),
      new EngineRequestRejected({ operation, status: 500, reason: "oh" }),
      new EngineRequestRejected({ operation, status: 409, reason: "oh" })
    ]
    assert.deepStrictEqual(errors.map(isEngineFault), [true, true, true, true, true, false])
  })
})
