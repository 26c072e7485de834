import { RuntimeAddress, runtimeAddressFile } from "@berth/api/runtime/RuntimeContract"
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpServer from "@effect/platform/HttpServer"
import { Data, Deferred, Duration, Effect, Layer, Schedule, Schema } from "effect"
import type { RuntimeIdentity } from "./RuntimeReports.ts"

/** The address file was deleted or replaced, so the backend can no longer find this runtime. */
export class AddressFileLost extends Data.TaggedError("AddressFileLost")<object> {
  override get message() {
    return "The runtime's address file was deleted or replaced."
  }
}

interface AddressFileOptions extends RuntimeIdentity {
  /** Home directory of the instance. */
  readonly directory: string
  readonly pid: number
  /** Fails after the address file is lost. */
  readonly lost: Deferred.Deferred<never, AddressFileLost>
  readonly checkInterval?: Duration.DurationInput
}

const encode = Schema.encode(Schema.parseJson(RuntimeAddress))

/** Restricts the socket to its account, then publishes its path in the instance's directory by an atomic rename. */
export const layer = (options: AddressFileOptions) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const { address } = yield* HttpServer.HttpServer
      if (address._tag !== "UnixAddress") return yield* Effect.dieMessage("The runtime listens on no Unix socket.")
      const socket = address.path
      const { directory, pid, runtimeVersion, startedAt } = options
      const file = `${directory}/${runtimeAddressFile}`
      const text = yield* Effect.orDie(encode({ pid, socket, runtimeVersion, startedAt }))
      yield* files.chmod(socket, 0o600)
      yield* files.writeFileString(`${file}.new`, text)
      yield* files.rename(`${file}.new`, file)

      const isCurrent = files.readFileString(file).pipe(
        Effect.map((now) => now === text),
        // A temporary read error does not prove a loss.
        Effect.catchAll((error) => Effect.succeed(error._tag !== "SystemError" || error.reason !== "NotFound"))
      )
      yield* Effect.addFinalizer(() =>
        Effect.whenEffect(files.remove(file), isCurrent).pipe(
          Effect.catchAll(({ message }) =>
            Effect.logWarning("Address file not removed").pipe(Effect.annotateLogs({ reason: message }))
          )
        )
      )
      yield* Effect.sleep(options.checkInterval ?? Duration.seconds(10)).pipe(
        Effect.zipRight(isCurrent),
        Effect.repeat({ while: (current) => current, schedule: Schedule.forever }),
        Effect.zipRight(Deferred.fail(options.lost, new AddressFileLost())),
        Effect.forkScoped
      )
      yield* Effect.logInfo("Runtime listening").pipe(Effect.annotateLogs({ socket, pid, runtimeVersion }))
    })
  )
