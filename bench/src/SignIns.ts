import { verify } from "@node-rs/argon2"
import { Array, Effect, Schema } from "effect"
import { availableParallelism } from "node:os"
import { hostBerth } from "./berth/HostedBerth.ts"
import { requestOnce, type HttpRequest, openConnection } from "./measure/TimedRequest.ts"
import { median } from "./measure/Latencies.ts"
import type { Load } from "./measure/Load.ts"
import { measureInTurns } from "./measure/Rounds.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"

const password = "correct horse battery"
const Stored = Schema.Struct({ password_hash: Schema.String })

/** One account per connection, so that sign-ins do not wait for each other. */
const people = 10

const post = (path: string, email: string, expected: number): HttpRequest => ({
  method: "POST",
  path,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ email, password }),
  expected
})

/** Verifications per second of the argon2 library alone, with the parameters of the stored hash. */
const rawRate = (hash: string, atOnce: number, seconds: number) =>
  Effect.promise(async () => {
    const began = performance.now()
    const end = began + seconds * 1000
    let done = 0
    const work = async () => {
      while (performance.now() < end) {
        await verify(hash, password)
        done += 1
      }
    }
    await Promise.all(Array.makeBy(atOnce, work))
    return (done * 1000) / (performance.now() - began)
  })

/** Sign-ins with a password, compared with the hash rate of the machine. */
export const signIns: Scenario = (amounts) =>
  Effect.gen(function* () {
    const hosted = yield* hostBerth()
    const { server } = yield* hosted.berth.pids
    const emails = Array.makeBy(people, (index) => `sailor-${index}@example.com`)
    yield* Effect.scoped(
      Effect.flatMap(openConnection(hosted.berth.webUrl), (client) =>
        Effect.forEach(emails, (email) => requestOnce(client, post("/api/register", email, 200)))
      )
    )
    const [{ password_hash: hash }] = yield* Effect.filterOrDieMessage(
      hosted.database.select(Stored, "select password_hash from users limit 1"),
      Array.isNonEmptyReadonlyArray,
      "Nobody has registered"
    )
    const calls = Array.map(emails, (email) => post("/api/auth/callback/credentials", email, 200))
    const loadOf = (connections: number): Load => ({
      origin: hosted.berth.webUrl,
      connections,
      callOf: (index) => calls[index % calls.length] ?? calls[0]
    })

    const cores = availableParallelism()
    const raw = yield* Effect.forEach([1, cores], (atOnce) =>
      Effect.map(Effect.replicateEffect(rawRate(hash, atOnce, amounts.roundSeconds), amounts.rounds), (rates) => ({
        atOnce,
        rate: median(rates),
        rates
      }))
    )
    const standings = yield* Effect.map(
      Effect.forEach([1, 2, people], (connections) =>
        measureInTurns(
          [{ name: "POST /api/auth/callback/credentials", pid: server, load: loadOf(connections) }],
          amounts
        )
      ),
      Array.flatten
    )
    const most = Math.max(...raw.map(({ rate }) => rate))
    return {
      figures: { unit: "ms", raw, standings },
      tables: [
        {
          title: "Sign-ins with a password",
          columns: ["what", "at once", "per second", "p50 ms", "p95 ms", "p99 ms", "cpu ms", "part of the machine"],
          rows: [
            ...standings.map(({ connections, cpu, name, p50, p95, p99, rate }) => [
              name,
              String(connections),
              ...[rate, p50, p95, p99, cpu, rate / most].map(formatFigure)
            ]),
            ...raw.map(({ atOnce, rate }) => [
              "argon2id alone",
              String(atOnce),
              formatFigure(rate),
              "",
              "",
              "",
              "",
              formatFigure(rate / most)
            ])
          ],
          note: `Parameters of the stored hash: ${hash.split("$").slice(1, 4).join(" ")}.`
        }
      ],
      panels: [
        {
          title: "Sign-ins with a password",
          unit: "/s",
          bars: [
            ...standings.map(({ connections, rate }) => ({ label: `sign-ins, ${connections} conn.`, value: rate })),
            ...raw.map(({ atOnce, rate }) => ({
              label: `argon2id alone, ${atOnce} at once`,
              value: rate,
              isBaseline: true
            }))
          ]
        }
      ]
    }
  })
