import { defaultAgentConfig } from "@berth/domain/agents/Agent"
import { UserId } from "@berth/domain/shared/UserId"
import { Array, Effect, Option, Schedule } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { mkdir, readlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { type HostedBerth, hostBerth } from "./berth/HostedBerth.ts"
import { createOwners } from "./berth/Owners.ts"
import { listChildren, readCpuSeconds, readResidentMemory } from "./berth/Processes.ts"
import { readTransactions } from "./berth/Sleep.ts"
import { upstreamEnvironment } from "./Chats.ts"
import { attempt, summarizeAttempts } from "./measure/Attempts.ts"
import { type HttpRequest, openConnection, requestOnce } from "./measure/TimedRequest.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"
import { startServer } from "./servers/ServerProcess.ts"

const message = { message: "Ahoy! Who are you?" }

interface Sleeper {
  readonly userId: UserId
  readonly cookie: string
}

/** Copies of an owner, each with a session and a sleeping agent. Registration would take a tenth of a second for each. */
const copyOwner = (
  { database }: HostedBerth,
  owner: { readonly userId: UserId; readonly cookie: string },
  count: number
) =>
  Effect.gen(function* () {
    const cookieName = /[^;\s=]*session[^;\s=]*/.exec(owner.cookie)?.[0] ?? ""
    const copies = Array.makeBy(count, () => {
      const token = randomBytes(32).toString("base64url")
      const id = `usr_${randomBytes(16).toString("hex")}`
      const hash = createHash("sha256").update(token).digest("hex")
      return { id, hash, sleeper: { userId: UserId.make(id), cookie: `${cookieName}=${token}` } satisfies Sleeper }
    })
    const ids = copies.map(({ id }) => id)
    yield* database.execute(
      `insert into users
       select (jsonb_populate_record(u, jsonb_build_object('id', copy, 'email', copy || '@bench.local', 'referral_code', copy))).*
       from users u, unnest($1::text[]) as copy where u.id = $2`,
      [ids, owner.userId]
    )
    yield* database.execute(
      `insert into subscriptions (user_id, plan, status, updated_at)
       select id, 'network', 'active', now() from unnest($1::text[]) as id`,
      [ids]
    )
    yield* database.execute(
      `insert into sessions
       select (jsonb_populate_record(s, jsonb_build_object('id', 'ses_' || copy, 'user_id', copy, 'token_hash', hash))).*
       from (select sessions from sessions where user_id = $3 limit 1) as one(s), unnest($1::text[], $2::text[]) as t(copy, hash)`,
      [ids, copies.map(({ hash }) => hash), owner.userId]
    )
    yield* database.execute(
      `insert into agents (id, owner_id, name, model, custom_model, status, config, created_at, updated_at)
       select 'agt_' || id, id, 'First mate', 'custom', 'openai/gpt-4o-mini', 'active', $2::jsonb, now(), now()
       from unnest($1::text[]) as id`,
      [ids, JSON.stringify(defaultAgentConfig)]
    )
    yield* database.execute(
      `insert into instances (owner_id, subdomain, desired, status, last_used_at, created_at)
       select id, replace(id, '_', '-'), 'asleep', 'active', now(), now() from unnest($1::text[]) as id`,
      [ids]
    )
    return copies.map(({ sleeper }) => sleeper)
  })

/** The directory of all instances, from that of a running one. */
const findInstanceRoot = (server: number) =>
  Effect.flatMap(listChildren(server), ([pid]) =>
    Effect.promise(async () => dirname(dirname(await readlink(`/proc/${pid}/cwd`))))
  )

/** The directories of instances that have run before. */
const makeDirectories = (root: string, sleepers: ReadonlyArray<Sleeper>) =>
  Effect.promise(async () => {
    for (const { userId } of sleepers) await mkdir(join(root, userId, "home"), { recursive: true })
  })

const chatCall = ({ cookie }: Sleeper): HttpRequest => ({
  method: "POST",
  path: "/api/agent",
  headers: { cookie, "content-type": "application/json" },
  body: JSON.stringify(message),
  expected: 200
})

/** Per second over a pause, and memory in MiB at its end. */
const readQuiet = (hosted: HostedBerth, seconds: number) =>
  Effect.gen(function* () {
    const { server, worker } = yield* hosted.berth.pids
    const pids = { server, worker }
    const before = { server: yield* readCpuSeconds(server), worker: yield* readCpuSeconds(worker) }
    const transactions = yield* readTransactions(hosted)
    yield* Effect.sleep(`${seconds} seconds`)
    const committed = (yield* readTransactions(hosted)) - transactions
    // Reading the transactions waits, too.
    const length = seconds + 3
    return {
      transactions: committed / (seconds + 1.5),
      serverCpuMs: (((yield* readCpuSeconds(server)) - before.server) * 1000) / length,
      workerCpuMs: (((yield* readCpuSeconds(worker)) - before.worker) * 1000) / length,
      serverMib: (yield* readResidentMemory([pids.server])).rss,
      workerMib: (yield* readResidentMemory([pids.worker])).rss,
      instances: (yield* listChildren(server)).length
    }
  })
type Quiet = Effect.Effect.Success<ReturnType<typeof readQuiet>>

/** Many sleeping owners and some awake ones on one machine: what they cost at rest, and how fast sleepers wake meanwhile. */
export const sleepingOwners: Scenario = ({ awakeOwners, settleSeconds, sleepingOwners: count, sleepersWoken }) =>
  Effect.gen(function* () {
    const upstream = yield* startServer("Upstream")
    // A scan for idle instances every five seconds.
    const hosted = yield* hostBerth({ ...upstreamEnvironment(upstream.origin), INSTANCE_IDLE: "20s" })
    const { server } = yield* hosted.berth.pids
    const [first] = yield* createOwners(hosted, 1)
    const chat = (sleeper: Sleeper) =>
      Effect.scoped(
        Effect.flatMap(openConnection(hosted.berth.webUrl), (client) => requestOnce(client, chatCall(sleeper)))
      )
    // One instance has run, so that code is loaded and the directory exists.
    const [warm] = yield* copyOwner(hosted, first, 1)
    if (warm !== undefined) yield* chat(warm)

    const quiet = 2 * settleSeconds
    const root = yield* findInstanceRoot(server)
    const none = yield* readQuiet(hosted, quiet)
    const sleepers = yield* copyOwner(hosted, first, count + awakeOwners)
    yield* makeDirectories(root, sleepers)
    const asleep = yield* readQuiet(hosted, quiet)

    const awake = sleepers.slice(count)
    yield* Effect.forEach(awake, chat, { concurrency: 4, discard: true })
    const turns: Array<Option.Option<number>> = []
    const use = Effect.forEach(
      awake,
      (sleeper, index) =>
        Effect.map(attempt(chat(sleeper)), (took) => turns.push(took)).pipe(
          Effect.repeat(Schedule.spaced("5 seconds")),
          Effect.delay(`${100 * index} millis`)
        ),
      { concurrency: "unbounded", discard: true }
    )
    const measured = Effect.gen(function* () {
      const inUse = yield* readQuiet(hosted, quiet)
      const instances = yield* Effect.flatMap(listChildren(server), readResidentMemory)
      const woken = Array.makeBy(sleepersWoken, (index) => sleepers[Math.floor((index * count) / sleepersWoken)])
      const wakes = yield* Effect.forEach(
        woken.flatMap((sleeper) => Option.toArray(Option.fromNullable(sleeper))),
        (sleeper) => attempt(chat(sleeper))
      )
      return { inUse, instances, wakes: summarizeAttempts(wakes) }
    })
    const { inUse, instances, wakes } = yield* Effect.raceFirst(measured, Effect.zipRight(use, Effect.never))

    const used = summarizeAttempts(turns)
    const times = (it: typeof used) =>
      `p50 ${formatFigure(it.p50)} ms, p95 ${formatFigure(it.p95)} ms, p99 ${formatFigure(it.p99)} ms, success ${formatFigure(it.succeeded * 100)} %`
    const row = (name: string, it: Quiet) => [
      name,
      String(it.instances),
      ...[it.transactions, it.serverCpuMs, it.workerCpuMs, it.serverMib, it.workerMib].map(formatFigure)
    ]
    return {
      figures: { sleeping: count, awake: awakeOwners, none, asleep, inUse, instances, turns: used, wakes },
      tables: [
        {
          title: `${count} sleeping and ${awakeOwners} awake owners`,
          columns: [
            "",
            "processes",
            "transactions/s",
            "server cpu ms/s",
            "worker cpu ms/s",
            "server MiB",
            "worker MiB"
          ],
          rows: [
            row("one owner", none),
            row(`${count + awakeOwners} sleeping`, asleep),
            row(`${awakeOwners} awake, a message every 5 s each`, inUse)
          ],
          note: `Instances together: ${formatFigure(instances.pss)} MiB (pss). ${used.count} turns of the awake owners: ${times(used)}. Wake of ${sleepersWoken} others meanwhile, one by one: ${times(wakes)}.`
        }
      ],
      panels: []
    }
  })
