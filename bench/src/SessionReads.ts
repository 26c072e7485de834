import { Array, Data, Effect, Redacted } from "effect"
import { hostBerth } from "./berth/HostedBerth.ts"
import { ownerGet, createOwners } from "./berth/Owners.ts"
import { requestOnce, type HttpRequest, openConnection } from "./measure/TimedRequest.ts"
import type { Load } from "./measure/Load.ts"
import { measureInTurns } from "./measure/Rounds.ts"
import * as Comparison from "./report/Comparison.ts"
import type { Scenario } from "./Scenario.ts"
import { installBetterAuth } from "./servers/Competitors.ts"
import { type StartedServer, startServer } from "./servers/ServerProcess.ts"

class SignInFailed extends Data.TaggedError("SignInFailed")<{ readonly body: string }> {
  override get message() {
    return `Unexpected session response: ${this.body}`
  }
}

/** Signs a user up at better-auth and returns the `cookie` header. */
const signUp = (origin: string, index: number) =>
  Effect.promise(async () => {
    const response = await fetch(`${origin}/api/auth/sign-up/email`, {
      method: "POST",
      headers: { "content-type": "application/json", origin },
      body: JSON.stringify({ name: "Owner", email: `owner-${index}@example.com`, password: "correct horse battery" })
    })
    await response.arrayBuffer()
    return response.headers
      .getSetCookie()
      .map((cookie) => cookie.split(";", 1).join(""))
      .join("; ")
  })

/** Both servers also answer 200 without a session, so the body is checked. */
const assertSignedIn = (origin: string, call: HttpRequest) =>
  Effect.scoped(
    Effect.gen(function* () {
      const body = (yield* requestOnce(yield* openConnection(origin), call)).text()
      if (!body.includes('"email"')) yield* new SignInFailed({ body })
    })
  )

/** Session reads by cookie at Berth and better-auth, on the same database server. Both read the database each time. */
export const sessionReads: Scenario = (amounts) =>
  Effect.gen(function* () {
    yield* installBetterAuth
    const hosted = yield* hostBerth()
    const { server } = yield* hosted.berth.pids
    const people = Math.min(10, Math.max(...amounts.connections))
    const owners = yield* createOwners(hosted, people)
    const ours = Array.map(owners, (owner) => ownerGet(owner, "/api/auth/session"))
    yield* assertSignedIn(hosted.berth.webUrl, ours[0])

    const environment = { DATABASE_URL: Redacted.value(hosted.database.url), NODE_ENV: "production" }
    const plain = yield* startServer("better-auth/server", environment)
    const joining = yield* startServer("better-auth/server", { ...environment, JOINS: "on" })
    const sessionsAt = ({ origin }: StartedServer, first: number) =>
      Effect.gen(function* () {
        const calls = yield* Effect.forEach(Array.range(first, first + people - 1), (index) =>
          Effect.map(signUp(origin, index), (cookie): HttpRequest => ({
            method: "GET",
            path: "/api/auth/get-session",
            headers: { cookie },
            expected: 200
          }))
        )
        yield* assertSignedIn(origin, calls[0])
        return calls
      })
    const plainCalls = yield* sessionsAt(plain, 0)
    const joiningCalls = yield* sessionsAt(joining, people)

    const load = (origin: string, calls: Array.NonEmptyReadonlyArray<HttpRequest>, connections: number): Load => ({
      origin,
      connections,
      callOf: (index) => calls[index % calls.length] ?? calls[0]
    })
    const pairs = yield* Effect.forEach(amounts.connections, (connections) => {
      const berth = {
        name: "GET /api/auth/session",
        pid: server,
        load: load(hosted.berth.webUrl, ours, connections)
      }
      return Effect.map(
        measureInTurns(
          [
            berth,
            { name: "better-auth", pid: plain.pid, load: load(plain.origin, plainCalls, connections) },
            berth,
            { name: "better-auth, joins", pid: joining.pid, load: load(joining.origin, joiningCalls, connections) }
          ],
          amounts
        ),
        Comparison.pairResults
      )
    })
    const all = pairs.flat()
    return {
      figures: { unit: "ms", aim: { ratio: 1.5 }, pairs: all },
      tables: [Comparison.comparisonTable("Session reads compared with better-auth", all, "better-auth")],
      panels: Comparison.comparisonPanels("Reading a session", all)
    }
  })
