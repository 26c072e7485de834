import { InstanceSettings } from "@berth/domain/instances/InstanceSettings"
import { Effect, Layer, Option } from "effect"
import { join, resolve } from "node:path"
import type { Settings } from "../configuration/Settings.ts"
import { prepareDataDirectory } from "../files/DataDirectory.ts"
import * as ProcessInstanceDriver from "../instance-drivers/process/ProcessInstanceDriver.ts"
import { hostInUrl } from "../net/HostInUrl.ts"
import { ProgramMisconfigured } from "../process/ProgramRunner.ts"
import * as BerthAgentRuntime from "../runtime/BerthAgentRuntime.ts"
import * as UnixSocketClient from "../runtime/UnixSocketClient.ts"

const wildcards = new Set(["0.0.0.0", "::"])

/** The instances of this host, which run the runtime of `bundle`. */
export const fromSettings = (settings: Settings, bundle: string) => {
  const { backendHost, backendPort } = settings.addresses
  // Instances run on this host, so they use the listening address instead of BACKEND_URL.
  const backendUrl = `http://${hostInUrl(wildcards.has(backendHost) ? "127.0.0.1" : backendHost)}:${backendPort}`
  const dataDirectory = resolve(settings.dataDir)
  const driver = ProcessInstanceDriver.layer({
    directory: join(dataDirectory, "instances"),
    bundle,
    onClose: settings.supervised ? "stop" : "leave",
    uids: Option.getOrUndefined(settings.instanceUids),
    requiresAccounts: settings.environment === "production",
    otlpEndpoint: Option.getOrUndefined(settings.otlpEndpoint)
  })
  return Layer.mergeAll(
    prepareDataDirectory(dataDirectory).pipe(
      Effect.mapError(({ message }) => new ProgramMisconfigured({ reason: message })),
      Effect.as(
        Layer.catchAll(driver, (error) =>
          Layer.fail(
            error._tag === "InstanceAccountsUnavailable" ? new ProgramMisconfigured({ reason: error.message }) : error
          )
        )
      ),
      Layer.unwrapEffect
    ),
    BerthAgentRuntime.layer,
    Layer.succeed(InstanceSettings, { backendUrl, idleAfter: settings.instanceIdle })
  ).pipe(Layer.provide(UnixSocketClient.layer))
}
