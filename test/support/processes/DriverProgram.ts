import { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import { UserId } from "@berth/domain/shared/UserId"
import * as ProcessInstanceDriver from "@berth/infra/instance-drivers/process/ProcessInstanceDriver"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { Effect, Layer, Logger, Redacted } from "effect"

/*
 * Starts one instance with the process driver and runs until its standard input ends. Arguments: directory, runtime
 * bundle.
 */

const [directory = "", bundle = ""] = process.argv.slice(2)

const main = Effect.gen(function* () {
  const driver = yield* InstanceDriver
  yield* driver.start({
    owner: UserId.make("usr_ada"),
    memoryMb: 256,
    cpus: 1,
    diskMb: 256,
    token: Redacted.make("own"),
    backendUrl: "http://127.0.0.1:1"
  })
  process.stdout.write("started\n")
  yield* Effect.async<void>((resume) => {
    process.stdin.resume().once("end", () => resume(Effect.void))
  })
}).pipe(
  Effect.provide(
    ProcessInstanceDriver.layer({ directory, bundle, onClose: "stop" }).pipe(Layer.provide(UnixSocketClient.layer))
  ),
  Effect.provide(Logger.remove(Logger.defaultLogger))
)

void Effect.runPromise(main)
