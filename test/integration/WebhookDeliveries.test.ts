import type { DomainEvent } from "@berth/domain/events/DomainEvent"
import { DomainEvents } from "@berth/domain/events/DomainEvents"
import { Users } from "@berth/domain/accounts/Users"
import { MailOutbox, SendMailJob } from "@berth/domain/mail/MailOutbox"
import { AgentId } from "@berth/domain/shared/AgentId"
import { Credits } from "@berth/domain/shared/Money"
import type { User } from "@berth/domain/shared/User"
import { maximumAttemptsPerOwner } from "@berth/domain/webhooks/WebhookDelivery"
import { WebhookDeliveryRepository } from "@berth/domain/webhooks/WebhookDeliveryRepository"
import { WebhookDispatch } from "@berth/domain/webhooks/WebhookDispatch"
import { WebhookEndpoints } from "@berth/domain/webhooks/WebhookEndpoints"
import { WebhookReceiver } from "@berth/domain/webhooks/WebhookReceiver"
import { makeAddressPolicy } from "@berth/infra/net/OutboundAddresses"
import * as OutboundClient from "@berth/infra/net/OutboundClient"
import * as StandardWebhooksReceiver from "@berth/infra/webhooks/StandardWebhooksReceiver"
import * as AccountsWiring from "@berth/infra/wiring/AccountsWiring"
import * as WebhookDeliveryLoop from "@berth/worker/webhooks/WebhookDeliveryLoop"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Clock, Context, DateTime, Duration, Effect, Exit, Layer, Redacted, Schema, Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Webhook } from "standardwebhooks"
import { eventually } from "../support/Eventually.ts"
import { listenLocally } from "../support/LocalServer.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { insertUser, uniqueName } from "../support/Samples.ts"
import { testStorage } from "../support/TestStorage.ts"

const adminEmail = "admin@example.com"

const storage = Layer.unwrapScoped(
  Effect.map(migratedDatabase, (databaseUrl) => Layer.orDie(testStorage(databaseUrl, { adminEmails: [adminEmail] })))
)

/** Simulates that the worker crashes between the response and its record. */
let diesAfterSending = false
const mortal = <R>(receiver: Layer.Layer<WebhookReceiver, never, R>) =>
  Layer.map(receiver, (context) => {
    const { post } = Context.get(context, WebhookReceiver)
    return Context.make(WebhookReceiver, {
      post: (...args) => Effect.tap(post(...args), () => (diesAfterSending ? Effect.interrupt : Effect.void))
    })
  })

/** To loopback addresses except one. */
const isAllowed = (address: string) => makeAddressPolicy(["127.0.0.0/8"])(address) && address !== "127.0.0.9"

const Live = Layer.mergeAll(WebhookEndpoints.Default, WebhookDispatch.Default).pipe(
  Layer.provideMerge(Layer.merge(Users.Default, MailOutbox.Default)),
  Layer.provideMerge(
    Layer.provide(
      mortal(StandardWebhooksReceiver.layer({ timeout: "2 seconds" })),
      Layer.succeed(OutboundClient.OutboundClient, OutboundClient.make(isAllowed))
    )
  ),
  Layer.provide(
    AccountsWiring.layer({
      referralCredits: Credits(0),
      appUrl: new URL("http://localhost:3000"),
      verifiedEmailsOnly: false
    })
  ),
  Layer.provideMerge(storage)
)

interface Receipt {
  readonly id: string
  readonly headers: Record<string, string>
  readonly body: string
}

type Responder = (request: IncomingMessage, response: ServerResponse) => void

const respondWith =
  (status: number, headers: Record<string, string> = {}): Responder =>
  (_request, response) =>
    void response.writeHead(status, headers).end()

const openReceiver = (first: Responder = respondWith(200)) =>
  Effect.gen(function* () {
    const receipts: Array<Receipt> = []
    const receiver = { respond: first }
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const)
        )
        receipts.push({ id: headers["webhook-id"] ?? "", headers, body: Buffer.concat(chunks).toString() })
        receiver.respond(request, response)
      })
    })
    const url = yield* listenLocally(server)
    return { url, receipts, receiver }
  })

const readBody = ({ body }: Receipt) =>
  Schema.decodeSync(
    Schema.parseJson(
      Schema.Struct({
        type: Schema.String,
        timestamp: Schema.DateTimeUtc,
        data: Schema.Struct({
          agentId: Schema.String,
          name: Schema.String,
          status: Schema.String,
          previousStatus: Schema.String
        })
      })
    )
  )(body)

const statusOf = (sequence: number): DomainEvent => ({
  kind: "agent.status",
  data: { agentId: AgentId.make("agt_1"), name: String(sequence), status: "stopped", previousStatus: "active" }
})

const append = (user: User, sequence = 0) =>
  Effect.flatMap(DomainEvents, (events) => events.append(statusOf(sequence), user.id))

const subscribe = (user: User, url: URL, isOrdered = false) =>
  Effect.flatMap(WebhookEndpoints, (endpoints) =>
    endpoints.create(user, { url: url.href, kinds: ["agent.status"], isOrdered })
  )

const later = <A, E, R>(offset: Duration.DurationInput, work: Effect.Effect<A, E, R>) => {
  const live = Clock.make()
  const millis = () => live.unsafeCurrentTimeMillis() + Duration.toMillis(offset)
  return Effect.withClock(work, {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: millis,
    currentTimeMillis: Effect.sync(millis),
    unsafeCurrentTimeNanos: () => BigInt(millis()) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => BigInt(millis()) * 1_000_000n),
    sleep: (duration) => live.sleep(duration)
  })
}

const deliverDue = Effect.gen(function* () {
  const { attempt, claim } = yield* WebhookDispatch
  yield* Effect.repeat(
    Effect.tap(claim(50), (claimed) => Effect.forEach(claimed, attempt, { concurrency: "unbounded" })),
    { until: (claimed) => claimed.length === 0 }
  )
})

const logOf = (user: User, id: Parameters<WebhookEndpoints["listDeliveries"]>[1]) =>
  Effect.flatMap(WebhookEndpoints, (endpoints) => endpoints.listDeliveries(user, id, { limit: 100, offset: 0 })).pipe(
    Effect.map(({ deliveries }) => deliveries)
  )

const mailsTo = ({ id }: User) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`select 1 from outbox where name = ${SendMailJob.name} and lane = ${`mail ${id}`}`
  ).pipe(Effect.map((rows) => rows.length))

const verifies = (secret: Redacted.Redacted, { body, headers }: Receipt) => {
  try {
    new Webhook(Redacted.value(secret)).verify(body, headers)
    return true
  } catch {
    return false
  }
}

layer(Live, { excludeTestServices: true })("Webhook deliveries", (it) => {
  it.scoped("A delivery is verified by standardwebhooks and holds kind, time and data of the event", () =>
    Effect.gen(function* () {
      const owner = yield* insertUser()
      const { receipts, url } = yield* openReceiver()
      const { secret } = yield* subscribe(owner, url)
      yield* append(owner)
      yield* deliverDue
      const [receipt] = receipts
      if (receipt === undefined) return assert.fail("no delivery")
      assert.isTrue(verifies(secret, receipt))
      assert.isFalse(verifies(secret, { ...receipt, body: `${receipt.body} ` }))
      const { data, timestamp, type } = readBody(receipt)
      assert.deepEqual<unknown>({ kind: type, data }, statusOf(0))
      assert.isTrue(DateTime.distance(timestamp, yield* DateTime.now) < 60_000)
      assert.lengthOf(receipts, 1)
    })
  )

  it.scoped("Deliveries of a rotated secret verify with both secrets for a day, then with the new one alone", () =>
    Effect.gen(function* () {
      const owner = yield* insertUser()
      const { receipts, url } = yield* openReceiver()
      const { endpoint, secret: old } = yield* subscribe(owner, url)
      const { secret } = yield* Effect.flatMap(WebhookEndpoints, (endpoints) =>
        endpoints.rotateSecret(owner, endpoint.id)
      )
      assert.notStrictEqual(Redacted.value(old), Redacted.value(secret))
      yield* append(owner, 1)
      yield* deliverDue
      const [during] = receipts
      if (during === undefined) return assert.fail("no delivery")
      assert.deepStrictEqual([verifies(old, during), verifies(secret, during)], [true, true])
      assert.lengthOf(during.headers["webhook-signature"]?.split(" ") ?? [], 2)
      yield* later("25 hours", Effect.zipRight(append(owner, 2), deliverDue))
      assert.lengthOf(receipts[1]?.headers["webhook-signature"]?.split(" ") ?? [], 1)
    })
  )

  const faults: ReadonlyArray<{
    readonly fault: string
    readonly respond: Responder
    readonly failure: string | null
  }> = [
    { fault: "responds with 500", respond: respondWith(500), failure: "status 500" },
    { fault: "redirects", respond: respondWith(302, { location: "http://127.0.0.9/" }), failure: "status 302" },
    { fault: "does not respond", respond: () => {}, failure: "timeout" },
    { fault: "drops the connection", respond: (request) => request.socket.destroy(), failure: "ECONNRESET" },
    {
      fault: "does not speak HTTP",
      respond: (request) => request.socket.end("no HTTP\r\n\r\n"),
      failure: "HPE_INVALID_CONSTANT"
    },
    {
      fault: "answers slowly without an end after its status",
      respond: (_request, response) => void response.writeHead(200).write("a"),
      failure: null
    },
    {
      fault: "answers gigabytes",
      respond: (_request, response) => {
        const write = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        }
        response.on("drain", write)
        write()
      },
      failure: null
    }
  ]
  for (const { failure, fault, respond } of faults)
    it.scoped(
      `A delivery to a receiver that ${fault} ${failure === null ? "succeeds" : "is repeated under its id"}`,
      () =>
        Effect.gen(function* () {
          const owner = yield* insertUser()
          const { receipts, receiver, url } = yield* openReceiver(respond)
          const { endpoint } = yield* subscribe(owner, url)
          yield* append(owner)
          yield* deliverDue
          const [first] = yield* logOf(owner, endpoint.id)
          assert.deepInclude(first, { status: failure === null ? "delivered" : "pending", failure, attempts: 1 })
          if (failure === null) return
          receiver.respond = respondWith(204)
          yield* later("7 seconds", deliverDue)
          assert.deepInclude((yield* logOf(owner, endpoint.id))[0], {
            status: "delivered",
            responseStatus: 204,
            attempts: 2
          })
          assert.deepStrictEqual(
            receipts.map(({ id }) => id),
            [String(first?.id), String(first?.id)]
          )
        })
    )

  it.scoped("A delivery to a private address or a closed port fails and makes no request", () =>
    Effect.gen(function* () {
      const owner = yield* insertUser()
      const closed = yield* Effect.scoped(openReceiver())
      const ids = yield* Effect.forEach([new URL("http://127.0.0.9:80/"), closed.url], (url) =>
        Effect.map(subscribe(owner, url), ({ endpoint }) => endpoint.id)
      )
      yield* append(owner)
      yield* deliverDue
      const failures = yield* Effect.forEach(ids, (id) => Effect.map(logOf(owner, id), ([one]) => one?.failure))
      assert.deepStrictEqual(failures, ["127.0.0.9 has no public address", "ECONNREFUSED"])
    })
  )

  it.scoped("Status 410 disables an endpoint with a mail, and a replay delivers the missed events later", () =>
    Effect.gen(function* () {
      const endpoints = yield* WebhookEndpoints
      const owner = yield* insertUser()
      const { receipts, receiver, url } = yield* openReceiver(respondWith(410))
      const { endpoint } = yield* subscribe(owner, url)
      const since = yield* DateTime.now
      yield* append(owner, 1)
      yield* deliverDue
      assert.deepInclude((yield* endpoints.list(owner))[0], { disabledReason: "gone" })
      assert.strictEqual(yield* mailsTo(owner), 1)
      yield* append(owner, 2)
      yield* deliverDue
      assert.lengthOf(receipts, 1)
      receiver.respond = respondWith(200)
      assert.strictEqual((yield* endpoints.enable(owner, endpoint.id)).disabledReason, null)
      const range = { since, until: DateTime.add(yield* DateTime.now, { seconds: 1 }) }
      assert.strictEqual(yield* endpoints.replay(owner, endpoint.id, range), 2)
      yield* deliverDue
      assert.deepStrictEqual(
        (yield* logOf(owner, endpoint.id)).map(({ status }) => status),
        ["delivered", "delivered"]
      )
      assert.strictEqual(yield* endpoints.replay(owner, endpoint.id, range), 0)
      assert.strictEqual(yield* endpoints.replay(owner, endpoint.id, { ...range, failedOnly: false }), 2)
    })
  )

  it.scoped("An endpoint that fails for five days is disabled with one mail; a success in between starts anew", () =>
    Effect.gen(function* () {
      const endpoints = yield* WebhookEndpoints
      const owner = yield* insertUser()
      const { receiver, url } = yield* openReceiver(respondWith(500))
      const { endpoint } = yield* subscribe(owner, url)
      const isDisabled = Effect.map(endpoints.list(owner), ([one]) => one?.disabledReason ?? null)
      const fail = (days: number) => later(Duration.days(days), Effect.zipRight(append(owner, days), deliverDue))
      yield* fail(0)
      yield* fail(4)
      receiver.respond = respondWith(200)
      yield* later("4.5 days", deliverDue)
      receiver.respond = respondWith(500)
      yield* fail(6)
      assert.strictEqual(yield* isDisabled, null)
      yield* fail(10)
      assert.strictEqual(yield* isDisabled, null)
      yield* fail(11.5)
      assert.strictEqual(yield* isDisabled, "failing")
      assert.strictEqual(yield* mailsTo(owner), 1)
      assert.isTrue((yield* logOf(owner, endpoint.id)).every(({ status }) => status !== "pending"))
    })
  )

  it.scoped("An ordered endpoint receives events in order: a failing delivery holds up those after it", () =>
    Effect.gen(function* () {
      const owner = yield* insertUser()
      const ordered = yield* openReceiver(respondWith(500))
      const free = yield* openReceiver()
      yield* subscribe(owner, ordered.url, true)
      yield* subscribe(owner, free.url)
      yield* Effect.forEach([1, 2, 3], (sequence) => append(owner, sequence))
      yield* deliverDue
      assert.lengthOf(ordered.receipts, 1)
      assert.lengthOf(free.receipts, 3)
      ordered.receiver.respond = respondWith(200)
      yield* later("7 seconds", deliverDue)
      assert.deepStrictEqual(
        ordered.receipts.map((receipt) => readBody(receipt).data.name),
        ["1", "1", "2", "3"]
      )
    })
  )

  for (const step of ["claimed", "sent", "recorded"] as const)
    it.scoped(`A worker that ends when a delivery is ${step} loses nothing, and repeats only under the same id`, () =>
      Effect.gen(function* () {
        const { attempt, claim } = yield* WebhookDispatch
        const owner = yield* insertUser()
        const { receipts, url } = yield* openReceiver()
        const { endpoint } = yield* subscribe(owner, url)
        yield* append(owner)
        const [claimed] = yield* claim(50)
        if (claimed === undefined) return assert.fail("nothing claimed")
        diesAfterSending = step === "sent"
        if (step === "sent") yield* Effect.exit(attempt(claimed))
        diesAfterSending = false
        if (step === "recorded") yield* attempt(claimed)
        yield* deliverDue
        assert.lengthOf(receipts, step === "claimed" ? 0 : 1)
        yield* later("61 seconds", deliverDue)
        assert.lengthOf(receipts, step === "sent" ? 2 : 1)
        assert.lengthOf([...new Set(receipts.map(({ id }) => id))], 1)
        assert.deepInclude((yield* logOf(owner, endpoint.id))[0], { status: "delivered" })
        // A late result of an attempt without its claim is ignored.
        const deliveries = yield* WebhookDeliveryRepository
        const now = yield* DateTime.now
        yield* deliveries.recordFailed(claimed, { status: 500, failure: "late", retryAt: null, now })
        assert.deepInclude((yield* logOf(owner, endpoint.id))[0], { status: "delivered", failure: null })
      })
    )

  it.scoped("An event of a kind that this version does not know is delivered as stored, and holds up no other", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const owner = yield* insertUser()
      const { receipts, url } = yield* openReceiver()
      const { endpoint } = yield* subscribe(owner, url, true)
      yield* append(owner, 1)
      yield* append(owner, 2)
      yield* sql`
        update events set kind = 'agent.renamed', data = '{"agentId":"agt_1","from":"a"}'
        where user_id = ${owner.id} and data ->> 'name' = '1'`
      yield* sql`update webhook_endpoints set kinds = kinds || '{agent.renamed}' where id = ${endpoint.id}`
      yield* deliverDue
      assert.lengthOf(receipts, 2)
      assert.deepInclude(JSON.parse(receipts[0]?.body ?? ""), {
        type: "agent.renamed",
        data: { agentId: "agt_1", from: "a" }
      })
      assert.deepStrictEqual(
        (yield* logOf(owner, endpoint.id)).map(({ kind, status }) => [kind, status]),
        [
          ["agent.status", "delivered"],
          ["agent.renamed", "delivered"]
        ]
      )
    })
  )

  it.scoped("Concurrent claims take each delivery once", () =>
    Effect.gen(function* () {
      const { claim } = yield* WebhookDispatch
      const owner = yield* insertUser()
      const { url } = yield* openReceiver()
      const { endpoint } = yield* subscribe(owner, url)
      yield* Effect.forEach([1, 2, 3, 4], (sequence) => append(owner, sequence))
      const claims = yield* Effect.replicateEffect(claim(50), 8, { concurrency: "unbounded" })
      const ids = claims.flat().flatMap((one) => (one.endpoint.id === endpoint.id ? [one.id] : []))
      assert.strictEqual(new Set(ids).size, ids.length)
      assert.lengthOf(ids, 4)
    })
  )

  it.scoped("Slow receivers of one owner leave the slots of a worker to other owners", () =>
    Effect.gen(function* () {
      const { claim } = yield* WebhookDispatch
      const slow = yield* insertUser()
      const other = yield* insertUser()
      const { url } = yield* openReceiver()
      yield* Effect.replicateEffect(subscribe(slow, url), 10)
      const { endpoint } = yield* subscribe(other, url)
      yield* Effect.forEach([1, 2, 3, 4], (sequence) => append(slow, sequence))
      const first = yield* claim(32)
      yield* append(other)
      const second = yield* claim(32 - first.length)
      assert.include(
        second.map((one) => one.endpoint.id),
        endpoint.id
      )
      assert.lengthOf(
        [...first, ...second].filter((one) => one.endpoint.userId === slow.id),
        maximumAttemptsPerOwner
      )
    })
  )

  it.scoped(
    "Rights are checked when an event is sent: a suspended owner and a former administrator receive nothing",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const endpoints = yield* WebhookEndpoints
        const users = yield* Users
        const suspended = yield* insertUser()
        const administrator = yield* insertUser()
        yield* sql`update users set email = ${adminEmail} where id = ${administrator.id}`
        const { receipts, url } = yield* openReceiver()
        const { endpoint: first } = yield* subscribe(suspended, url)
        const { endpoint: second } = yield* endpoints.create(yield* users.find(administrator.id), {
          url: url.href,
          kinds: ["user.deleted"],
          isOrdered: false
        })
        yield* users.setSuspendedAt(suspended.id, yield* DateTime.now)
        yield* append(suspended)
        yield* (yield* DomainEvents).append({ kind: "user.deleted", data: { userId: suspended.id } }, null)
        yield* sql`update users set email = ${yield* uniqueName("former")} || '@example.com' where id = ${administrator.id}`
        yield* deliverDue
        assert.lengthOf(receipts, 0)
        assert.deepInclude((yield* logOf(suspended, first.id))[0], {
          status: "failed",
          failure: "The account is suspended."
        })
        assert.deepInclude((yield* logOf(administrator, second.id))[0], {
          status: "failed",
          failure: "The owner is no administrator any more."
        })
      })
  )

  const wanted = process.env["WEBHOOK_EVENTS"]
  it.scoped(
    "Workers that are killed and started lose no event, half of the receivers failing, and keep the order",
    () =>
      Effect.gen(function* () {
        const [events, pairs] = wanted === undefined ? [15, 2] : [Number(wanted), 10]
        const startedAt = yield* Clock.currentTimeMillis
        const owner = yield* insertUser()
        const open = (isOrdered: boolean, isFailing: boolean) =>
          Effect.gen(function* () {
            // Every third request of a failing receiver fails.
            let requests = 0
            const opened = yield* openReceiver((request, response) => {
              requests += 1
              respondWith(isFailing && requests % 3 === 0 ? 500 : 200)(request, response)
            })
            const { endpoint } = yield* subscribe(owner, opened.url, isOrdered)
            return { ...opened, id: endpoint.id, isOrdered }
          })
        const receivers = yield* Effect.forEach(
          Array.from({ length: pairs }).flatMap(() => [[true, true] as const, [false, false] as const]),
          ([isOrdered, isFailing]) => open(isOrdered, isFailing)
        )
        const sql = yield* SqlClient
        const mine = sql`
        status = 'pending' and endpoint_id in (select id from webhook_endpoints where user_id = ${owner.id})`
        // Retries are due at once instead of after seconds.
        yield* Effect.acquireRelease(
          sql`
            create function hasten() returns trigger language plpgsql as 'begin new.due_at = old.due_at; return new; end';
            create trigger hasten before update of due_at on webhook_deliveries for each row execute function hasten();`,
          () => Effect.orDie(sql`drop function hasten cascade`)
        )
        const runWorker = Effect.gen(function* () {
          const scope = yield* Scope.make()
          yield* Layer.buildWithScope(Layer.fresh(WebhookDeliveryLoop.layer), scope)
          return Scope.close(scope, Exit.void)
        })
        const pending = Effect.map(sql`select count(*)::int as count from webhook_deliveries where ${mine}`, ([row]) =>
          Number(row?.["count"])
        )
        const stop = yield* runWorker
        yield* Effect.forEach(
          Array.from({ length: events }, (_, index) => index + 1),
          (sequence) => append(owner, sequence)
        )
        // Deliveries in flight arrive, but their results are not recorded; their claims expire immediately instead of
        // after a minute.
        diesAfterSending = true
        yield* stop
        diesAfterSending = false
        yield* sql`update webhook_deliveries set claimed_until = null where ${mine}`
        const other = yield* Effect.all([runWorker, runWorker])
        yield* eventually(pending, (count) => count === 0, {
          description: "no pending delivery",
          timeout: "18 minutes"
        })
        yield* Effect.all(other)
        for (const { id, isOrdered, receipts } of receivers) {
          const seen = receipts.map((receipt) => Number(readBody(receipt).data.name))
          const distinct = [...new Set(seen)]
          assert.lengthOf(distinct, events, id)
          assert.lengthOf([...new Set(receipts.map((receipt, at) => `${receipt.id} ${seen[at]}`))], events, id)
          if (isOrdered)
            assert.deepStrictEqual(
              distinct,
              distinct.toSorted((a, b) => a - b)
            )
        }
        const requests = receivers.reduce((sum, { receipts }) => sum + receipts.length, 0)
        const seconds = Math.round(((yield* Clock.currentTimeMillis) - startedAt) / 1000)
        yield* Effect.logInfo("Webhook deliveries ended").pipe(
          Effect.annotateLogs({ deliveries: events * receivers.length, requests, seconds })
        )
      }),
    wanted === undefined ? 120_000 : 20 * 60_000
  )
})
