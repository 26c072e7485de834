import { type Berth, type BerthStartFailed, startBerth } from "@berth/test/e2e/BerthProcess"
import { Effect, Option, type Scope } from "effect"
import { profilingEnvironment } from "../measure/Profiles.ts"
import * as Database from "./Database.ts"
import { Storage } from "./Storage.ts"

/** Limits are raised, and no request leaves this machine. */
export const benchEnvironment = {
  LIMIT_REGISTER: "1000000/1h",
  LIMIT_SIGN_IN: "1000000/1h",
  LIMIT_SIGN_IN_ACCOUNT: "1000000/1h",
  LIMIT_PROVISION: "1000000/1h",
  // The discard port: the public model list is unreachable, so the shipped one is used.
  OPENROUTER_BASE_URL: "http://127.0.0.1:9/v1"
}

export interface HostedBerth {
  readonly berth: Berth
  readonly database: Database.Database
}

/** Starts Berth on empty storage and waits until it is ready. The scope stops it. */
export const hostBerth = (
  settings: Readonly<Record<string, string>> = {}
): Effect.Effect<HostedBerth, BerthStartFailed, Storage | Scope.Scope> =>
  Effect.gen(function* () {
    const storage = yield* (yield* Storage).fresh
    const berth = yield* startBerth({
      environment: {
        ...benchEnvironment,
        ...storage.environment,
        ...(yield* profilingEnvironment),
        ...settings
      },
      ...Option.match(storage.databaseUrl, { onNone: () => ({}), onSome: (databaseUrl) => ({ databaseUrl }) })
    })
    return { berth, database: yield* Database.connectDatabase(berth.place, storage.databaseUrl) }
  })
