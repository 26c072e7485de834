import { Effect, Layer } from "effect"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import * as App from "../support/TestApp.ts"

export const twoProcesses = Effect.gen(function* () {
  const databaseUrl = yield* migratedDatabase
  const start = Layer.build(Layer.fresh(App.layer({ databaseUrl, secretsKey: Buffer.alloc(32, 7) })))
  return { here: yield* start, there: yield* start }
})
