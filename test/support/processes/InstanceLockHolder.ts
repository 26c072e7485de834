import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import * as PostgresInstanceRepository from "@berth/infra/postgres/instances/PostgresInstanceRepository"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import { Config, Effect, Layer, Logger } from "effect"
import * as TestSecrets from "../TestSecrets.ts"
import { UserId } from "@berth/domain/shared/UserId"

/* A process that holds an owner's lock until it is killed; it reports progress on its standard output. */
const repository = Effect.gen(function* () {
  const url = yield* Config.redacted("DATABASE_URL")
  return PostgresInstanceRepository.layer.pipe(
    Layer.provide(PostgresPool.layer({ url, maxConnections: 2, applicationName: "dying holder" })),
    Layer.provide(TestSecrets.layer)
  )
}).pipe(Layer.unwrapEffect)

const hold = Effect.gen(function* () {
  const instances = yield* InstanceRepository
  const owner = UserId.make(yield* Config.string("OWNER"))
  return yield* instances.serialized(
    owner,
    Effect.zipRight(
      Effect.sync(() => process.stdout.write("holding\n")),
      Effect.never
    )
  )
})

void Effect.runPromise(hold.pipe(Effect.provide(repository), Effect.provide(Logger.remove(Logger.defaultLogger))))
