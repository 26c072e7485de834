import { RuntimeAddress, runtimeAddressFile } from "@berth/api/runtime/RuntimeContract"
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpServer from "@effect/platform/HttpServer"
import { Data, Deferred, Duration, Effect, Layer, Schedule, Schema } from "effect"
import type { RuntimeIdentity } from "./RuntimeHttp.ts"

/** Nobody can find this cell any more: its directory was deleted, or another cell took its place. */
export class AddressFileLost extends Data.TaggedError("AddressFileLost")<object> {
  override get message() {
    return "The cell's address is gone, so nobody can find the cell."
  }
}

export interface AddressFileOptions extends RuntimeIdentity {
  /** The cell's own directory. */
  readonly directory: string
  readonly pid: number
  /** Fails when the address that was written is not there any more. */
  readonly lost: Deferred.Deferred<never, AddressFileLost>
  readonly checkInterval?: Duration.DurationInput
}

const encode = Schema.encode(Schema.parseJson(RuntimeAddress))

/** Says in the cell's directory where it listens: the file is there as a whole or not at all. */
export const layer = (options: AddressFileOptions) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const { address } = yield* HttpServer.HttpServer
      if (address._tag !== "TcpAddress") return yield* Effect.dieMessage("The cell listens on no port.")
      const { directory, pid, runtimeVersion, startedAt } = options
      const file = `${directory}/${runtimeAddressFile}`
      const text = yield* Effect.orDie(encode({ pid, port: address.port, runtimeVersion, startedAt }))
      yield* files.writeFileString(`${file}.new`, text)
      yield* files.rename(`${file}.new`, file)

      const stands = files.readFileString(file).pipe(
        Effect.map((now) => now === text),
        // What cannot be read at the moment may well be there.
        Effect.catchAll((error) => Effect.succeed(error._tag !== "SystemError" || error.reason !== "NotFound"))
      )
      yield* Effect.addFinalizer(() =>
        Effect.whenEffect(files.remove(file), stands).pipe(
          Effect.catchAll(({ message }) =>
            Effect.logWarning("The address file stays behind").pipe(Effect.annotateLogs({ reason: message }))
          )
        )
      )
      yield* Effect.sleep(options.checkInterval ?? Duration.seconds(10)).pipe(
        Effect.zipRight(stands),
        Effect.repeat({ while: (still) => still, schedule: Schedule.forever }),
        Effect.zipRight(Deferred.fail(options.lost, new AddressFileLost())),
        Effect.forkScoped
      )
      yield* Effect.logInfo("The cell listens").pipe(Effect.annotateLogs({ port: address.port, pid, runtimeVersion }))
    })
  )
