import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { assert, layer } from "@effect/vitest"
import { Array, Context, Effect, Exit, Fiber, Layer, Option, Redacted, Ref, Schedule, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import { type LossyNode, startLossyNode, startUsdcChain, type UsdcChain } from "../support/chain/UsdcChain.ts"
import { type FakeOpenAi, makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import {
  readAllRuntimeTraces,
  readRuntimePid,
  listRuntimeProcesses,
  readProcessEnvironment
} from "./RuntimeProcesses.ts"
import { memberAt, textOrEmpty } from "./MainJobSteps.ts"
import { accountDeletion, DeletionBerth } from "./AccountDeletion.ts"
import { type Berth, startBerth } from "./BerthProcess.ts"
import * as Records from "./ServiceDatabase.ts"
import { type SignedUpClient, signUpClient, type StreamedEvent } from "./WebClient.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"

const model = "openai/gpt-4o-mini"

class Service extends Context.Tag("@berth/test/ChaosService")<
  Service,
  {
    readonly berth: Berth
    readonly upstream: FakeOpenAi
    readonly environment: Readonly<Record<string, string>>
    readonly chain: UsdcChain
    readonly node: LossyNode
  }
>() {}

const service = Layer.unwrapScoped(
  Effect.gen(function* () {
    const upstream = yield* makeFakeOpenAi()
    const chain = yield* startUsdcChain
    const node = yield* startLossyNode(chain.url)
    const environment = {
      BASE_SEPOLIA_RPC_URL: node.url,
      OPENAI_BASE_URL: upstream.baseUrl,
      OPENAI_API_KEY: upstream.apiKey,
      // The discard port: tests do not read the public model list.
      OPENROUTER_BASE_URL: "http://127.0.0.1:9/api/v1",
      LIMIT_REGISTER: "1000/1h",
      LIMIT_SIGN_IN: "1000/1h",
      DRAIN_SECONDS: "2"
    }
    const berth = yield* startBerth({ environment })
    const { server } = yield* berth.pids
    const [, databaseUrl = ""] = /(?:^|\0)DATABASE_URL=([^\0]+)/.exec(yield* readProcessEnvironment(server)) ?? []
    return Layer.mergeAll(
      Layer.succeed(Service, { berth, upstream, environment, chain, node }),
      Layer.succeed(DeletionBerth, berth),
      Records.layer(Redacted.make(databaseUrl))
    )
  })
)

const many = { concurrency: "unbounded" } as const

const subscriber = Effect.gen(function* () {
  const { berth } = yield* Service
  const person = yield* signUpClient(berth.webUrl)
  yield* Records.insertSubscription(person.userId, "pro")
  return person
})

const ownerWithRunningAgent = Effect.gen(function* () {
  const person = yield* subscriber
  const { id } = yield* person.provision("Ada", model)
  yield* person.untilRunning(id)
  return { ...person, agentId: id }
})

const pidOf = (userId: UserId) =>
  Effect.flatMap(Service, ({ berth }) =>
    Effect.flatMap(readRuntimePid(berth.place.dataDirectory, userId), Effect.orDie)
  )

/** Upper bound of every wait, also on slow machines. */
const waitLimit = "60 seconds"

const wantedDown = (userId: UserId) =>
  eventually(Records.readDesiredState(userId), (desired) => desired === "down", {
    description: "the stored stop",
    timeout: waitLimit
  })

/** A process that has exited meanwhile is ignored. */
const kill = (pid: number) => Effect.ignoreLogged(Effect.try(() => process.kill(pid, "SIGKILL")))

/** Kills an instance and waits for its exit. */
const killInstance = (pid: number) =>
  Effect.zipRight(
    kill(pid),
    eventually(
      Effect.sync(() => isProcessAlive(pid)),
      (alive) => !alive,
      { description: `the end of process ${pid}`, timeout: waitLimit }
    )
  )

/** Kills programs of the supervisor and waits until they are restarted, not until they are ready. */
const killPrograms = (...names: ReadonlyArray<"server" | "worker">) =>
  Effect.gen(function* () {
    const { berth } = yield* Service
    const before = yield* berth.pids
    yield* Effect.forEach(names, (name) => kill(before[name]))
    yield* eventually(
      berth.pids,
      (now) => names.every((name) => now[name] !== before[name] && isProcessAlive(now[name])),
      {
        description: `others in the place of the killed ${names.join(" and ")}`,
        timeout: waitLimit
      }
    )
  })

/** Starts a chat whose answer stops in the middle; returns when all of its deltas have arrived. */
const beginChat = (person: SignedUpClient, message: string, pieces: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { upstream } = yield* Service
    const before = upstream.received.length
    upstream.respondWith(pieces.length === 0 ? { type: "hang" } : { type: "break-off", pieces, by: "hanging" })
    const received: Array<StreamedEvent> = []
    const fiber = yield* Effect.fork(
      Effect.exit(
        Stream.runForEach(person.events("/api/agent", { message }), (event) => Effect.sync(() => received.push(event)))
      )
    )
    yield* eventually(
      Effect.sync(() => ({ calls: upstream.received.length - before, events: received.length })),
      (current) => current.calls > 0 && current.events >= pieces.length,
      { description: `"${message}" reached the upstream and has ${pieces.length} deltas`, timeout: waitLimit }
    )
    return { received, end: Fiber.join(fiber) }
  })

/**
 * Starts an A2A task whose answer stops in the middle; returns when its text has arrived. `expectFailed`: the task has
 * ended once, for every reader.
 */
const beginTask = (person: SignedUpClient & { readonly agentId: AgentId }, text: string) =>
  Effect.gen(function* () {
    const { upstream } = yield* Service
    upstream.respondWith({ type: "break-off", pieces: ["Half "], by: "hanging" })
    const path = `/agents/${person.agentId}/a2a`
    const body = { message: { messageId: text, role: "ROLE_USER", parts: [{ text }] } }
    const headers = { "a2a-version": "1.0" }
    const received: Array<StreamedEvent> = []
    const events = person.events(`${path}/message:stream`, body, headers)
    const fiber = yield* Effect.fork(
      Effect.exit(Stream.runForEach(events, (event) => Effect.sync(() => received.push(event))))
    )
    yield* eventually(
      Effect.sync(() => received.length),
      (count) => count >= 2,
      { description: `the task "${text}" to have a part of its answer`, timeout: waitLimit }
    )
    const id = textOrEmpty(memberAt(received[0]?.data, "task", "id"))
    const expectFailed = Effect.gen(function* () {
      const more = { ...headers, "last-event-id": received[1]?.id ?? "" }
      const resumed = yield* Stream.runCollect(person.events(`${path}/tasks/${id}:subscribe`, {}, more))
      const last = Array.fromIterable(resumed).at(-1)?.data
      const sent = yield* person.raw("POST", `${path}/message:send`, { body, headers })
      const found = yield* person.raw("GET", `${path}/tasks/${id}`, { headers })
      const ends = [memberAt(last, "statusUpdate") ?? memberAt(last, "task"), memberAt(sent.body, "task"), found.body]
      for (const end of ends) assert.strictEqual(memberAt(end, "status", "state"), "TASK_STATE_FAILED")
      assert.deepStrictEqual([memberAt(sent.body, "task", "id"), memberAt(found.body, "id")], [id, id])
      assert.lengthOf(
        (yield* askedUpstream).filter((one) => one === text),
        1
      )
    })
    return { end: Fiber.join(fiber), expectFailed }
  })

/** The last message of each upstream call. */
const askedUpstream = Effect.map(Service, ({ upstream }) =>
  upstream.received.flatMap(({ body }) => {
    const messages = memberAt(body, "messages")
    return Array.isArray(messages) ? [textOrEmpty(memberAt(messages.at(-1), "content"))] : []
  })
)

/**
 * Every message has one answer or has failed, `partial` ones with a text. An answer costs a unit; a failed turn costs
 * one from its first model request on.
 */
const expectInOrder = (
  person: SignedUpClient,
  { partial = 0, ...expected }: { readonly answered: number; readonly failed: number; readonly partial?: number }
) =>
  Effect.gen(function* () {
    const { answered, failed } = expected
    const { booked, ledger, used, ...outcomes } = yield* Records.readMessageAccounts(person.userId)
    assert.deepStrictEqual(outcomes, { ...expected, replies: answered, pending: 0, open: 0 })
    assert.deepStrictEqual([booked, ledger], [used, used])
    assert.isAtLeast(used, answered)
    assert.isAtMost(used, answered + failed)
    const { body } = yield* person.raw("GET", "/api/chat")
    assert.strictEqual(memberAt(body, "count"), 2 * answered + failed + partial)
  })

const sessionOf = (person: SignedUpClient, sessionId: string) =>
  Effect.map(person.raw("GET", `/api/agent?action=session&sessionId=${sessionId}`), ({ body }) => {
    const messages = memberAt(body, "session", "messages")
    return Array.isArray(messages) ? messages.map((message) => textOrEmpty(memberAt(message, "content"))) : []
  })

/** Owners with agents requested the given milliseconds ago. */
const provisionedSince = (...ages: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const people = yield* Effect.forEach(ages, () => subscriber, { concurrency: 2 })
    const longest = Math.max(...ages)
    return yield* Effect.forEach(
      Array.zip(people, ages),
      ([person, age]) =>
        Effect.map(Effect.delay(person.provision("Ada", model), longest - age), ({ id }) => ({
          ...person,
          agentId: id
        })),
      many
    )
  })

/** Asserts that the agent runs and responds, with one process. */
const expectWell = (person: SignedUpClient & { readonly agentId: AgentId }) =>
  Effect.gen(function* () {
    yield* person.untilRunning(person.agentId)
    assert.strictEqual((yield* person.chat("How are you?")).reply, "You said: How are you?")
    assert.deepStrictEqual(yield* listRuntimeProcesses(person.userId), [yield* pidOf(person.userId)])
  })

const readProcessesAndRows = (person: SignedUpClient & { readonly agentId: AgentId }) =>
  Effect.all({
    desired: Records.readDesiredState(person.userId),
    agent: person.statusOf(person.agentId),
    instance: Effect.map(person.api.instances.find({ path: { userId: person.userId } }), ({ status }) => status),
    processes: listRuntimeProcesses(person.userId)
  })

/** One process per instance that should be up, else none, with matching statuses. */
const isAsTheRowsSay = ({
  agent,
  processes,
  desired,
  instance
}: Effect.Effect.Success<ReturnType<typeof readProcessesAndRows>>) =>
  desired === "up"
    ? processes.length === 1 && [agent, instance].every((status) => ["running", "active"].includes(status))
    : processes.length === 0 && agent === "stopped" && instance === "stopped"

layer(service, { timeout: "120 seconds", excludeTestServices: true })("after a kill -9", (it) => {
  accountDeletion(it)

  it.effect(
    "After a kill -9 of an instance during an answer, the message has failed and a new process answers the next one",
    Effect.fn(function* () {
      const { upstream } = yield* Service
      const person = yield* ownerWithRunningAgent
      yield* person.chat("First")
      const pid = yield* pidOf(person.userId)
      const left = upstream.abandonedRequests()

      const { end, received } = yield* beginChat(person, "Second", ["Half ", "an "])
      yield* killInstance(pid)
      assert.isTrue(Exit.isSuccess(yield* end))
      assert.deepStrictEqual(
        received.map(({ event }) => event),
        ["delta", "delta", "error"]
      )
      assert.deepInclude(received.at(-1)?.data, { code: "message_unanswered" })
      // An unread answer costs nothing.
      yield* eventually(
        Effect.sync(() => upstream.abandonedRequests()),
        (now) => now > left,
        {
          description: `the upstream call is abandoned (${left} were before)`,
          timeout: waitLimit
        }
      )
      yield* expectInOrder(person, { answered: 1, failed: 1, partial: 1 })

      const { reply, sessionId } = yield* person.chat("Third")
      assert.strictEqual(reply, "You said: Third")
      const next = yield* pidOf(person.userId)
      assert.notStrictEqual(next, pid)
      yield* killInstance(next)
      assert.strictEqual((yield* person.chat("Fourth")).sessionId, sessionId)
      yield* expectInOrder(person, { answered: 3, failed: 1, partial: 1 })
      assert.includeMembers([...(yield* askedUpstream)], ["First", "Second", "Third", "Fourth"])
      const task = yield* beginTask(person, "A task in a killed instance")
      yield* killInstance(yield* pidOf(person.userId))
      yield* task.end
      yield* task.expectFailed
      yield* expectWell(person)
    })
  )

  it.effect(
    "After a kill -9 of an instance during provisioning, the agent runs in a new process",
    Effect.fn(function* () {
      const { berth } = yield* Service
      const people = yield* provisionedSince(0, 0, 0)
      // At creation, during the start, and around readiness.
      const moments = [0, 120, 300]
      yield* Effect.forEach(
        Array.zip(people, moments),
        ([person, moment]) =>
          Effect.gen(function* () {
            const born = readRuntimePid(berth.place.dataDirectory, person.userId)
            yield* eventually(born, Option.isSome, { description: "a process is recorded", timeout: waitLimit })
            yield* Effect.sleep(moment)
            yield* kill(Option.getOrThrow(yield* born))
          }),
        many
      )
      yield* Effect.forEach(people, expectWell, many)
    })
  )

  it.effect(
    "After a kill -9 of an instance repeatedly, its agents have failed until their owner starts them",
    Effect.fn(function* () {
      const { berth } = yield* Service
      const person = yield* ownerWithRunningAgent
      const killWhatIsThere = Effect.flatMap(listRuntimeProcesses(person.userId), Effect.forEach(kill))
      yield* eventually(
        Effect.zipRight(killWhatIsThere, person.statusOf(person.agentId)),
        (status) => status === "error",
        { description: "the agent of the killed instance to have failed", timeout: waitLimit }
      )
      const { userId } = person
      assert.deepInclude(yield* person.api.instances.find({ path: { userId } }), { status: "error" })
      assert.deepInclude(yield* person.raw("POST", "/api/agent", { body: { message: "Anyone?" } }), { status: 404 })
      assert.include(yield* berth.logs, "Instance abandoned after repeated crashes")
      assert.deepInclude(yield* person.raw("POST", `/api/instance/${userId}/start`), { status: 200 })
      yield* expectWell(person)
      yield* expectInOrder(person, { answered: 1, failed: 0 })
    })
  )

  it.effect(
    "After a kill -9 of the server during provisioning, all agents run and a running instance is kept",
    Effect.fn(function* () {
      const { berth } = yield* Service
      const bystander = yield* ownerWithRunningAgent
      const pid = yield* pidOf(bystander.userId)
      const people = yield* provisionedSince(900, 600, 300, 0)
      yield* killPrograms("server")
      yield* berth.ready
      yield* expectWell(bystander)
      assert.strictEqual(yield* pidOf(bystander.userId), pid)
      yield* Effect.forEach(people, expectWell, many)
    })
  )

  it.effect(
    "After a kill -9 of the worker during provisioning, all agents run",
    Effect.fn(function* () {
      const people = yield* provisionedSince(900, 600, 300, 0)
      yield* killPrograms("worker")
      yield* Effect.forEach(people, expectWell, many)
    })
  )

  it.effect(
    "After a kill -9 of the programs between a transaction and its lost answer, the payment is finished, and made once",
    Effect.fn(function* () {
      const { berth, chain, node } = yield* Service
      const person = yield* subscriber
      const { id } = yield* person.provision("Ada", model)
      const wallet = yield* person.raw("POST", "/api/wallet", { body: { action: "create" } })
      const address = textOrEmpty(memberAt(wallet.body, "address"))
      yield* chain.fund(address)
      const limit = "5000000"
      yield* person.raw("PUT", `/api/agents/${id}/wallet-limits`, {
        body: { perCall: limit, perDay: limit, perAgent: limit, confirmAbove: "0" }
      })
      const payee = `0x${"ef".repeat(20)}` as const
      const paymentId = yield* Records.insertPendingTransfer(person.userId, id, payee, 1_250_000)
      const approval = { body: { paymentId, action: "approve" } }
      yield* Effect.fork(Effect.exit(person.raw("POST", `/api/agents/${id}/wallet-payments`, approval)))
      yield* node.lost
      yield* killPrograms("server", "worker")
      yield* Records.agePayment(paymentId)
      yield* berth.ready
      yield* eventually(
        person.raw("GET", `/api/agents/${id}/wallet-payments`),
        ({ body }) => memberAt(body, "payments", "0", "status") === "confirmed",
        { description: "the payment is confirmed", timeout: waitLimit }
      )
      assert.strictEqual(new Set(yield* node.sent).size, 1)
      assert.deepStrictEqual([yield* chain.countMined(address), yield* chain.balanceOf(payee)], [1, 1_250_000n])
    })
  )

  it.effect(
    "After a kill -9 of the server during a stop and a start, no instance runs that should not",
    Effect.fn(function* () {
      const { berth } = yield* Service
      const [stopped, started] = yield* Effect.all([ownerWithRunningAgent, ownerWithRunningAgent], many)
      const act = (person: SignedUpClient, verb: string) => person.raw("POST", `/api/instance/${person.userId}/${verb}`)
      yield* act(started, "stop")
      // An instance with a turn in progress drains before it ends.
      yield* beginChat(stopped, "Never answered", [])
      yield* Effect.fork(Effect.exit(act(stopped, "stop")))
      yield* wantedDown(stopped.userId)
      yield* Effect.fork(Effect.exit(act(started, "start")))
      yield* eventually(listRuntimeProcesses(started.userId), (processes) => processes.length > 0, {
        description: "a process for the owner who starts",
        timeout: waitLimit
      })
      yield* killPrograms("server")

      yield* berth.ready
      const { userId } = stopped
      yield* eventually(
        Effect.all([
          stopped.statusOf(stopped.agentId),
          stopped.api.instances.find({ path: { userId } }),
          listRuntimeProcesses(userId)
        ]),
        ([agent, instance, processes]) =>
          agent === "stopped" && instance.status === "stopped" && processes.length === 0,
        { description: "the stop is finished", timeout: waitLimit }
      )
      yield* eventually(
        Effect.all([started.statusOf(started.agentId), listRuntimeProcesses(started.userId)]),
        ([agent, processes]) => (agent === "active" ? 1 : 0) === processes.length,
        { description: "a process exactly if the start was recorded", timeout: waitLimit }
      )
      yield* Effect.all([act(stopped, "start"), act(started, "start")], many)
      // The interrupted conversation waits until its message has failed; others do not.
      yield* stopped.raw("POST", "/api/agent", { body: { action: "create-session" } })
      yield* Effect.forEach([stopped, started], expectWell, many)
    })
  )

  it.effect(
    "After a kill -9 of the server during every lifecycle call, an instance runs exactly if the rows say so",
    Effect.fn(function* () {
      const { berth } = yield* Service
      const verbs = ["start", "stop", "restart", "update", "repair", "reset-memory"] as const
      const [started, stopped, restarted, updated, repaired, forgetful] = yield* Effect.all(
        [
          ownerWithRunningAgent,
          ownerWithRunningAgent,
          ownerWithRunningAgent,
          ownerWithRunningAgent,
          ownerWithRunningAgent,
          ownerWithRunningAgent
        ],
        { concurrency: 3 }
      )
      const people = [started, stopped, restarted, updated, repaired, forgetful]
      const act = (person: SignedUpClient, verb: string) => person.raw("POST", `/api/instance/${person.userId}/${verb}`)
      yield* act(started, "stop")
      yield* forgetful.chat("To be forgotten")
      const replaced = yield* Effect.forEach([restarted, updated, repaired], ({ userId }) => pidOf(userId))
      yield* Effect.forEach(
        Array.zip(people, verbs),
        ([person, verb]) => Effect.forkDaemon(Effect.exit(act(person, verb))),
        many
      )
      yield* wantedDown(stopped.userId)
      // Polled by process: the next start can precede the first check.
      yield* eventually(
        Effect.sync(() => replaced.map(isProcessAlive)),
        (alive) => alive.includes(false),
        { description: "the end of one of the replaced processes", timeout: waitLimit }
      )
      yield* killPrograms("server")
      yield* berth.ready
      yield* Effect.forEach(
        Array.zip(people, verbs),
        ([person, verb]) =>
          eventually(readProcessesAndRows(person), isAsTheRowsSay, {
            description: `an instance exactly if the rows say so, after ${verb}`,
            timeout: waitLimit
          }),
        many
      )
      // A conversation is deleted completely or not at all.
      const { body } = yield* forgetful.raw("GET", "/api/chat")
      assert.include([0, 2], memberAt(body, "count"))
      yield* Effect.forEach(people, (person) => act(person, "start"), { concurrency: 3 })
      yield* Effect.forEach(people, expectWell, many)
    })
  )

  it.effect(
    "After a kill -9 of server and worker during all kinds of work, every piece of work completes",
    Effect.fn(function* () {
      const { berth } = yield* Service
      const [silent, half, through, client] = yield* Effect.all(
        [ownerWithRunningAgent, ownerWithRunningAgent, ownerWithRunningAgent, ownerWithRunningAgent],
        many
      )
      const pids = yield* Effect.forEach([silent, half, through], ({ userId }) => pidOf(userId))
      const { sessionId } = yield* half.chat("Before")
      const first = yield* beginChat(silent, "Never begun", [])
      const second = yield* beginChat(half, "Half answered", ["Half ", "of "])
      yield* eventually(Records.countStoredDeltas(half.userId), (count) => count === 2, {
        description: "the deltas of the partial answer are stored",
        timeout: waitLimit
      })
      const task = yield* beginTask(client, "A task at a killed server")
      yield* through.chat("Answered")
      const people = yield* provisionedSince(600, 300, 0)
      yield* killPrograms("server", "worker")
      yield* Effect.all([first.end, second.end, task.end])

      yield* berth.ready
      assert.deepStrictEqual(yield* Effect.forEach([silent, half, through], ({ userId }) => pidOf(userId)), pids)
      yield* through.chat("At once")
      // Turn leases and job locks expire soon after their holder has died.
      yield* Effect.all([half.chat("After"), silent.chat("After all"), Effect.forEach(people, expectWell, many)], many)

      yield* task.expectFailed
      yield* expectInOrder(silent, { answered: 1, failed: 1 })
      yield* expectInOrder(half, { answered: 2, failed: 1, partial: 1 })
      yield* expectInOrder(through, { answered: 2, failed: 0 })
      assert.includeMembers(
        [...(yield* sessionOf(half, sessionId))],
        ["Before", "You said: Before", "Half answered", "Half of ", "After", "You said: After"]
      )
      const { body } = yield* half.raw("GET", "/api/chat")
      assert.include(JSON.stringify(body), "Half answered")
      const requested = yield* askedUpstream
      for (const message of ["Never begun", "Half answered", "Before", "Answered", "At once", "After", "After all"])
        assert.deepStrictEqual(
          requested.filter((one) => one === message),
          [message]
        )
    })
  )

  it.effect(
    "After a kill -9 of the database, every accepted message is answered or has failed, and work goes on",
    Effect.fn(function* () {
      const { berth } = yield* Service
      const talkers = yield* Effect.all([ownerWithRunningAgent, ownerWithRunningAgent, ownerWithRunningAgent], many)
      const late = yield* subscriber
      const before = Option.getOrThrow((yield* berth.pids).postgres)
      const talking = yield* Ref.make(true)
      const talk = (person: SignedUpClient) => {
        const statuses: Array<number> = []
        const say = person.raw("POST", "/api/agent", { body: { message: "Still there?" } })
        return Effect.map(say, ({ status }) => statuses.push(status)).pipe(
          Effect.repeat({ while: () => Ref.get(talking) }),
          Effect.as(statuses),
          Effect.fork
        )
      }
      const fibers = yield* Effect.forEach(talkers, talk)
      yield* Effect.sleep("300 millis")
      yield* kill(before)
      const provisioned = yield* late.raw("POST", "/api/agents/provision", { body: { name: "Ada" } }).pipe(
        Effect.filterOrFail(({ status }) => status === 201),
        Effect.retry(Schedule.spaced("200 millis")),
        Effect.map(({ body }) => AgentId.make(textOrEmpty(memberAt(body, "agent", "id"))))
      )
      yield* berth.ready
      yield* Effect.sleep("300 millis")
      yield* Ref.set(talking, false)
      const statuses = yield* Effect.forEach(fibers, Fiber.join)
      // Only later requests are certain to reach the database.
      for (const person of talkers) yield* person.chat("And now?")
      yield* late.untilRunning(provisioned)
      for (const [person, own] of Array.zip(talkers, statuses)) {
        yield* eventually(Records.readMessageAccounts(person.userId), ({ pending }) => pending === 0, {
          description: "an end of every message",
          timeout: waitLimit
        })
        const { answered, failed } = yield* Records.readMessageAccounts(person.userId)
        assert.isAbove(answered, own.filter((status) => status === 200).length)
        yield* expectInOrder(person, { answered, failed })
      }
    })
  )

  it.scoped(
    "SIGTERM ends everything, and the next start continues",
    Effect.fn(function* () {
      const { berth, environment } = yield* Service
      const [person, cutOff] = yield* Effect.all([ownerWithRunningAgent, ownerWithRunningAgent], many)
      const { sessionId } = yield* person.chat("Before")
      const { end } = yield* beginChat(cutOff, "Never answered", ["Half "])
      yield* berth.signal("SIGTERM")
      assert.deepStrictEqual(yield* berth.ended, { code: 0, signal: null })
      yield* end
      const processes = yield* readAllRuntimeTraces(berth.place.dataDirectory)
      assert.deepStrictEqual(
        yield* Effect.forEach(processes, ({ owner }) => listRuntimeProcesses(UserId.make(owner))),
        processes.map(() => [])
      )

      yield* startBerth({ environment, place: berth.place })
      assert.deepInclude(yield* person.chat("After"), { sessionId, reply: "You said: After" })
      assert.deepStrictEqual(yield* sessionOf(person, sessionId), [
        "Before",
        "You said: Before",
        "After",
        "You said: After"
      ])
      yield* expectInOrder(person, { answered: 2, failed: 0 })
      yield* expectInOrder(cutOff, { answered: 0, failed: 1, partial: 1 })
      yield* expectWell(cutOff)
    })
  )
})
