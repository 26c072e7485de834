import { closeHostPorts } from "@berth/infra/instance-drivers/docker/HostFirewall"
import { assert, it } from "@effect/vitest"
import { Effect, HashMap, Logger, Option } from "effect"

it.effect("closeHostPorts logs the error of iptables with its advice", () =>
  Effect.gen(function* () {
    const logged: Array<readonly [unknown, unknown]> = []
    const logger = Logger.make(({ annotations, message }) => {
      logged.push([message, Option.getOrNull(HashMap.get(annotations, "error"))])
    })
    // Longer than a chain's name may be, so that no rule is added.
    yield* closeHostPorts({ bridge: "b".repeat(40), host: "127.0.0.1", port: 1 }).pipe(
      Effect.provide(Logger.replace(Logger.defaultLogger, logger))
    )
    assert.strictEqual(logged.length, 1)
    const [message, error] = logged[0] ?? []
    assert.deepStrictEqual(message, ["Host ports not closed to instances"])
    assert.match(String(error), /too long|ENOENT|[Pp]ermission denied/)
  })
)
