import { Array, Effect } from "effect"
import { type HostedBerth, hostBerth } from "./berth/HostedBerth.ts"
import { createOwners, type Owner, ownerPost } from "./berth/Owners.ts"
import { upstreamEnvironment, restoreUnits } from "./Chats.ts"
import type { HttpRequest } from "./measure/TimedRequest.ts"
import type { Load } from "./measure/Load.ts"
import { measureInTurns } from "./measure/Rounds.ts"
import * as Comparison from "./report/Comparison.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"
import { startServer } from "./servers/ServerProcess.ts"

const path = "/api/v1/gateway"
const requested = {
  model: "openai/gpt-4o-mini",
  messages: [{ role: "user", content: "Ahoy! What is the weather like at sea?" }],
  max_tokens: 100
}
/** 402 challenges per second. */
const aim = 3_000
const people = 10

const admins = Array.makeBy(people, (index) => `admin-${index}@bench.local`)

const makeAdmins = ({ database }: HostedBerth, owners: ReadonlyArray<Owner>) =>
  database.execute(
    `update users set email = named.email
     from unnest($1::text[], $2::text[]) as named (id, email) where users.id = named.id`,
    [owners.map(({ userId }) => userId), admins]
  )

const unpaid: HttpRequest = {
  method: "POST",
  path,
  headers: { "content-type": "application/json", "x-payment-method": "mpp" },
  body: JSON.stringify(requested),
  expected: 402
}

/** Gateway calls that reserve and settle units, the same calls by administrators (free of charge), and 402 challenges. */
export const charges: Scenario = (amounts) =>
  Effect.gen(function* () {
    const upstream = yield* startServer("InstantUpstream")
    const hosted = yield* hostBerth({
      ...upstreamEnvironment(upstream.origin),
      LIMIT_GATEWAY: "1000000/1m",
      ADMIN_EMAILS: admins.join(",")
    })
    const { server: pid } = yield* hosted.berth.pids
    const origin = hosted.berth.webUrl
    const owners = yield* createOwners(hosted, people)
    const free = yield* createOwners(hosted, people)
    yield* makeAdmins(hosted, free)
    const load = (callers: Array.NonEmptyReadonlyArray<Owner>, connections: number): Load => {
      const calls = Array.map(callers, (caller) => ownerPost(caller, path, requested))
      return { origin, connections, callOf: (index) => calls[index % calls.length] ?? calls[0] }
    }
    const levels = yield* Effect.forEach(amounts.connections, (connections) =>
      Effect.gen(function* () {
        yield* restoreUnits(hosted)
        const standings = yield* measureInTurns(
          [
            { name: "reserved and settled", pid, load: load(owners, connections) },
            { name: "not charged", pid, load: load(free, connections) }
          ],
          amounts
        )
        const [challenge] = yield* measureInTurns(
          [{ name: "402 challenge", pid, load: { origin, connections, callOf: () => unpaid } }],
          amounts
        )
        return { pairs: Comparison.pairResults(standings), challenges: Array.fromNullable(challenge) }
      })
    )
    const pairs = levels.flatMap((level) => level.pairs)
    const challenges = levels.flatMap((level) => level.challenges)
    return {
      figures: { unit: "ms", aim: { challenges: aim }, pairs, challenges },
      tables: [
        Comparison.comparisonTable(`POST ${path} through an instant upstream`, pairs, "not charged"),
        {
          title: "Latency added by charging",
          columns: ["connections", "reservations per second", "added p50 ms", "added p99 ms", "added cpu ms"],
          rows: pairs.map(({ baseline, berth }) => [
            String(berth.connections),
            ...[berth.rate, berth.p50 - baseline.p50, berth.p99 - baseline.p99, berth.cpu - baseline.cpu].map(
              formatFigure
            )
          ])
        },
        {
          title: "402 challenges",
          columns: ["connections", "per second", "p50 ms", "p99 ms", "cpu ms", "aim per second"],
          rows: challenges.map(({ connections, cpu, p50, p99, rate }) => [
            String(connections),
            ...[rate, p50, p99, cpu, aim].map(formatFigure)
          ])
        }
      ],
      panels: Comparison.comparisonPanels("Charged calls", pairs)
    }
  })
