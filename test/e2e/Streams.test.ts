import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { assert, layer } from "@effect/vitest"
import { Array, Chunk, Context, Effect, Fiber, Layer, Option, Predicate, Record, Redacted, Scope, Stream } from "effect"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { Browser, browserTool } from "../browser/Browser.ts"
import * as BrowserLayer from "../browser/Browser.ts"
import { eventually } from "../support/Eventually.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { freePort } from "../support/FreePort.ts"
import { connectSocket, type SocketFrame } from "../support/SocketClient.ts"
import { makeFakeOpenAi, type FakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"
import { readAllRuntimeTraces } from "./RuntimeProcesses.ts"
import { build, type Program, run } from "./ProgramProcess.ts"
import { memberAt } from "./MainJobSteps.ts"
import * as Records from "./ServiceDatabase.ts"
import { signUpClient, type SignedUpClient, type StreamedEvent, openWebClient } from "./WebClient.ts"
import type { UserId } from "@berth/domain/shared/UserId"

const model = "openai/gpt-4o-mini"

/** A web process that can be killed and restarted in place. */
interface WebProcess {
  readonly url: string
  readonly appUrl: string
  readonly host: string
  readonly kill: Effect.Effect<void>
  readonly start: Effect.Effect<void>
  readonly logs: Effect.Effect<string>
}

class Service extends Context.Tag("@berth/test/StreamsService")<
  Service,
  { readonly webs: readonly [WebProcess, WebProcess]; readonly upstream: FakeOpenAi }
>() {}

/** A program of the build that can be killed and started again. */
const program = (...args: Parameters<typeof run>) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const runs: Array<Program> = []
    const start = run(...args).pipe(
      Effect.map((started) => void runs.push(started)),
      Scope.extend(scope),
      Effect.orDie
    )
    yield* start
    return {
      start,
      kill: Effect.suspend(() => runs.at(-1)?.end("SIGKILL") ?? Effect.void),
      logs: Effect.map(Effect.all(runs.map(({ logs }) => logs)), (logs) => logs.join(""))
    }
  })

const service = Layer.unwrapScoped(
  Effect.gen(function* () {
    yield* build
    const upstream = yield* makeFakeOpenAi()
    const databaseUrl = yield* migratedDatabase
    const dataDirectory = join(yield* temporaryDirectory, "data")
    const [first, second, backendPort, health] = yield* Effect.all([freePort, freePort, freePort, freePort])
    const environment = {
      DATABASE_URL: Redacted.value(databaseUrl),
      DATA_DIR: dataDirectory,
      APP_URL: `http://localhost:${first}`,
      BACKEND_PORT: String(backendPort),
      BACKEND_URL: `http://127.0.0.1:${backendPort}`,
      INTERNAL_API_KEY: randomBytes(24).toString("hex"),
      SECRETS_KEYS: `one:${randomBytes(32).toString("base64")}`,
      OPENAI_BASE_URL: upstream.baseUrl,
      OPENAI_API_KEY: upstream.apiKey,
      // The discard port: tests do not read the public model list.
      OPENROUTER_BASE_URL: "http://127.0.0.1:9/api/v1",
      LIMIT_REGISTER: "1000/1h",
      LIMIT_SIGN_IN: "1000/1h",
      DRAIN_SECONDS: "5",
      WORKER_DRAIN_SECONDS: "5"
    }
    yield* Effect.addFinalizer(() =>
      Effect.map(readAllRuntimeTraces(dataDirectory), (instances) => {
        for (const { pid } of instances)
          if (Option.isSome(pid) && isProcessAlive(pid.value)) process.kill(pid.value, "SIGKILL")
      })
    )
    yield* program("server", { ...environment, SERVER_ROLE: "backend" }, backendPort)
    const web = (port: number) =>
      Effect.map(program("server", { ...environment, SERVER_ROLE: "web", PORT: String(port) }, port), (running) => ({
        ...running,
        url: `http://127.0.0.1:${port}`,
        // Pages send their origin, which is that of APP_URL.
        appUrl: `http://localhost:${port}`,
        host: `127.0.0.1:${port}`
      }))
    const webs = yield* Effect.all([web(first), web(second)])
    yield* program("worker", { ...environment, WORKER_HEALTH_PORT: String(health) }, health)
    return Layer.merge(Layer.succeed(Service, { webs, upstream }), Records.layer(databaseUrl))
  })
)

const ownerWithRunningAgent = Effect.gen(function* () {
  const { webs } = yield* Service
  const person = yield* signUpClient(webs[0].url)
  yield* Records.insertSubscription(person.userId, "pro")
  const { id } = yield* person.provision("Ada", model)
  yield* person.untilRunning(id)
  const other = yield* openWebClient(webs[1].url)
  yield* other.signIn(person.account)
  return { ...person, agentId: id, other }
})

const begin = (person: SignedUpClient, message: string) =>
  Effect.gen(function* () {
    const received: Array<StreamedEvent> = []
    const fiber = yield* Effect.forkDaemon(
      Effect.exit(
        Stream.runForEach(person.events("/api/agent", { message }), (event) => Effect.sync(() => received.push(event)))
      )
    )
    return { received, fiber }
  })

const twoPieces = (received: ReadonlyArray<StreamedEvent>) =>
  eventually(
    Effect.sync(() => received),
    (current) => current.length >= 2,
    { description: "two pieces of an answer" }
  )

const resumed = (visitor: Pick<SignedUpClient, "resume">, id: string | undefined) =>
  Effect.map(Stream.runCollect(visitor.resume("/api/agent", id ?? "")), Chunk.toReadonlyArray)

/** The trace of an error event is the trace of its response. */
const withoutTraces = (events: ReadonlyArray<StreamedEvent>) =>
  events.map(({ data, ...event }) => ({
    ...event,
    data: Predicate.isRecord(data) ? Record.remove(data, "traceId") : data
  }))

const cookieOf = (person: Pick<SignedUpClient, "cookies">) =>
  Effect.map(person.cookies, (jar) =>
    Array.fromIterable(Object.values(jar.cookies))
      .map(({ name, valueEncoded }) => `${name}=${valueEncoded}`)
      .join("; ")
  )

const costs = (userId: UserId, answered: number, failed: number, units = answered) =>
  Effect.map(Records.readMessageAccounts(userId), (account) =>
    assert.deepStrictEqual(account, {
      answered,
      failed,
      pending: 0,
      replies: answered,
      used: units,
      booked: units,
      open: 0,
      ledger: units
    })
  )

layer(service, { timeout: "120 seconds", excludeTestServices: true })("a stream, with two web processes", (it) => {
  it.scoped(
    "A stream continues live at another web process",
    Effect.fn(function* () {
      const { upstream } = yield* Service
      const person = yield* ownerWithRunningAgent
      upstream.respondWith({ type: "break-off", pieces: ["Half ", "an "], by: "hanging" })
      const { fiber, received } = yield* begin(person, "Tell!")
      yield* twoPieces(received)
      const rest = yield* Effect.forkDaemon(resumed(person.other, received[0]?.id))
      const whole = yield* Effect.forkDaemon(resumed(person.other, received[0]?.id?.replace(/\d+$/, "0")))
      // The fake model never ends that answer; stopping the instance does, which settles the output so far.
      yield* person.raw("POST", `/api/instance/${person.userId}/stop`)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        received.map(({ event }) => event),
        ["delta", "delta", "error"]
      )
      assert.deepStrictEqual(withoutTraces(yield* Fiber.join(rest)), withoutTraces(received.slice(1)))
      assert.deepStrictEqual(withoutTraces(yield* Fiber.join(whole)), withoutTraces(received))
      yield* costs(person.userId, 0, 1, 1)
    })
  )

  it.scoped(
    "A stream is complete wherever it is cut, at either web process, and after a restart of both",
    Effect.fn(function* () {
      const { webs } = yield* Service
      const person = yield* ownerWithRunningAgent
      const { fiber, received } = yield* begin(person, "A message of some words")
      yield* Fiber.join(fiber)
      assert.strictEqual(received.at(-1)?.event, "done")
      for (const [index, { id }] of received.entries()) {
        assert.deepStrictEqual(yield* resumed(index % 2 === 0 ? person.other : person, id), received.slice(index + 1))
      }
      yield* Effect.forEach(webs, ({ kill }) => kill)
      yield* Effect.forEach(webs, ({ start }) => start, { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* resumed(person.other, received[0]?.id), received.slice(1))
      yield* costs(person.userId, 1, 0)
    })
  )

  it.scoped(
    "A stream whose process was killed ends with an error at another one; its text is kept and its model call is settled",
    Effect.fn(function* () {
      const { upstream, webs } = yield* Service
      const person = yield* ownerWithRunningAgent
      upstream.respondWith({ type: "break-off", pieces: ["Half ", "an "], by: "hanging" })
      const { fiber, received } = yield* begin(person, "Tell!")
      yield* twoPieces(received)
      yield* eventually(Records.countStoredDeltas(person.userId), (count) => count === 2, {
        description: "both deltas are stored"
      })
      yield* webs[0].kill
      yield* Fiber.join(fiber)
      const resumedEvents = yield* resumed(person.other, received[0]?.id)
      // Deltas that were not stored are lost; none is delivered twice.
      const [last, ...before] = resumedEvents.toReversed()
      assert.containSubset(last, { event: "error", data: { code: "message_unanswered" } })
      for (const event of before) assert.deepInclude(received, event)
      assert.isTrue(resumedEvents.every(({ id }) => id !== received[0]?.id))
      yield* costs(person.userId, 0, 1, 1)
      yield* webs[0].start
      const { reply, sessionId } = yield* person.chat("And now?")
      assert.strictEqual(reply, "You said: And now?")
      const { body } = yield* person.raw("GET", `/api/agent?action=session&sessionId=${sessionId}`)
      const messages = memberAt(body, "session", "messages")
      assert.containSubset(messages, [
        { role: "user", content: "Tell!", status: "failed" },
        {
          role: "assistant",
          content: "Half an ",
          status: "failed",
          stopped: false,
          failure: "the process that worked on it has ended"
        }
      ])
    })
  )

  it.scoped.skipIf(!browserTool.present)(
    "The console ends an answer whose process was killed, shows nothing twice, and goes on",
    Effect.fn(function* () {
      const { upstream, webs } = yield* Service
      const person = yield* ownerWithRunningAgent
      const restart = Effect.zipRight(webs[0].kill, webs[0].start)
      upstream.respondWith({ type: "break-off", pieces: ["Half ", "an "], by: "hanging" })
      const { visit } = yield* Browser
      yield* visit({ baseURL: webs[0].appUrl }, async ({ context, page }) => {
        await context.request.post("/api/auth/callback/credentials", { data: person.account })
        await page.goto(`/dashboard/agents/${person.agentId}/chat`)
        const message = page.getByLabel("Message", { exact: true })
        await message.fill("Tell!")
        await message.press("Enter")
        const growing = page.locator(".turn-agent[aria-busy=true]")
        await growing.filter({ hasText: "Half an" }).waitFor()
        await Effect.runPromise(restart)
        await growing.waitFor({ state: "detached" })
        for (const load of [async () => undefined, () => page.reload()]) {
          await load()
          await page.locator(".notice.failed, .answer-facts").first().waitFor()
          assert.strictEqual(await page.locator(".turn-user").count(), 1)
          assert.isAtMost(await page.locator(".turn-agent").count(), 1)
          assert.isAtMost((await page.getByRole("log").innerText()).split("Half an").length, 2)
        }
        await message.fill("And now?")
        await message.press("Enter")
        await page.locator(".turn-agent", { hasText: "You said: And now?" }).locator(".answer-facts").waitFor()
        assert.strictEqual(await page.locator(".turn-user").count(), 2)
      })
    }, Effect.provide(BrowserLayer.layer))
  )

  it.scoped(
    "A stream continues over a WebSocket at another web process, with changes of the agent's status",
    Effect.fn(function* () {
      const { webs } = yield* Service
      const person = yield* ownerWithRunningAgent
      const path = `/agents/${person.agentId}/ws`
      const [first, second] = [
        yield* connectSocket({ host: webs[0].host, path, headers: { cookie: yield* cookieOf(person) } }),
        yield* connectSocket({ host: webs[1].host, path, headers: { cookie: yield* cookieOf(person.other) } })
      ]
      const isOf = (id: unknown) => (frame: SocketFrame) => String(frame["id"]).startsWith(`${String(id)}:`)
      first.send({ type: "chat", message: "Some words" })
      const { messageId } = yield* first.until(({ type }) => type === "accepted")
      second.send({ type: "resume", lastEventId: `${String(messageId)}:0` })
      yield* second.until(({ type }) => type === "done")
      yield* first.until(({ type }) => type === "done")
      assert.deepStrictEqual(second.frames.filter(isOf(messageId)), first.frames.filter(isOf(messageId)))
      yield* person.raw("POST", `/api/instance/${person.userId}/stop`)
      yield* second.until(({ status }) => status === "stopped")
      yield* person.raw("POST", "/api/auth/signout")
      assert.containSubset(yield* first.closed, { code: 4401 })
      second.send({ type: "ping" })
      yield* second.until(({ type }) => type === "pong")
      yield* costs(person.userId, 1, 0)
    })
  )
})
