import { type Berth, type BerthDidNotStart, startBerth } from "@berth/test/e2e/BerthProcess"
import { Effect, Option, type Scope } from "effect"
import * as Database from "./Database.ts"
import { Storage } from "./Storage.ts"

/** Nobody is held up by a limit while he is measured, and nothing leaves this machine. */
export const benchEnvironment = {
  LIMIT_REGISTER: "1000000/1h",
  LIMIT_SIGN_IN: "1000000/1h",
  LIMIT_SIGN_IN_ACCOUNT: "1000000/1h",
  LIMIT_PROVISION: "1000000/1h",
  // The discard port: the public list of models is not there, and the one that is shipped stands in.
  OPENROUTER_BASE_URL: "http://127.0.0.1:9/v1"
}

export interface HostedBerth {
  readonly berth: Berth
  readonly database: Database.Database
}

/** A Berth of one's own on empty storage, ready. It ends with the scope. */
export const hostBerth = (
  settings: Readonly<Record<string, string>> = {}
): Effect.Effect<HostedBerth, BerthDidNotStart, Storage | Scope.Scope> =>
  Effect.gen(function* () {
    const storage = yield* (yield* Storage).fresh
    const berth = yield* startBerth({
      environment: { ...benchEnvironment, ...storage.environment, ...settings },
      ...Option.match(storage.databaseUrl, { onNone: () => ({}), onSome: (databaseUrl) => ({ databaseUrl }) })
    })
    return { berth, database: yield* Database.connectDatabase(berth.place, storage.databaseUrl) }
  })
