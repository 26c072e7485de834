import { ensureNetwork } from "@berth/infra/instance-drivers/docker/InstanceNetwork"
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { createServer } from "node:http"
import { join } from "node:path"
import { buildImage, reopenHostPorts, runDocker, testEngine } from "../adapters/instance-drivers/DockerHost.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { dockerEngine, dockerHost } from "../support/DockerDaemon.ts"
import { listenLocally } from "../support/LocalServer.ts"
import { describeWithTool } from "../support/RequiredTools.ts"
import { root, startBerth } from "./BerthProcess.ts"
import { runMainJob, uploadSkill } from "./MainJobSteps.ts"
import { signUpClient } from "./WebClient.ts"

const network = "berth-main-job"
/** The only private address that page requests may reach. */
const siteAddress = "127.0.0.2"
const owner = { email: "owner@berth.local", password: "the-owner's-own-9f3" }

describeWithTool(dockerEngine, "Berth on a Docker Engine", () => {
  it.scopedLive(
    "Berth on a Docker Engine does its main job with an instance in a container, which runs uploaded skills and reads pages of allowed hosts only",
    () =>
      Effect.gen(function* () {
        const engine = yield* testEngine
        const host = yield* Effect.promise(dockerHost)
        const image = yield* Effect.promise(async () => buildImage(join(root, "dist", "runtime", "runtime.mjs"), host))
        const { bridge, gateway } = yield* ensureNetwork(engine, network)
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            const left = runDocker("ps", "--all", "--quiet", "--filter", `network=${network}`)
              .split("\n")
              .filter(Boolean)
            if (left.length > 0) runDocker("rm", "--force", ...left)
            reopenHostPorts(bridge)
            runDocker("network", "rm", network)
          })
        )
        const site = createServer((_request, response) => response.end("The tide is at four."))
        const { host: siteHost } = yield* listenLocally(site, siteAddress)
        const databaseUrl = yield* migratedDatabase
        const berth = yield* startBerth({
          databaseUrl,
          environment: {
            AGENT_RUNTIME: "docker",
            DOCKER_HOST: host,
            DOCKER_NETWORK: network,
            RUNTIME_IMAGE: image,
            OUTBOUND_ALLOW_CIDRS: `${siteAddress}/32`
          }
        })
        assert.include(yield* berth.logs, `The runtime API listens on http://${gateway}:${berth.place.backendPort}`)
        const person = yield* signUpClient(berth.webUrl, "owner", owner)
        const running = () => runDocker("ps", "--quiet", "--filter", `name=${person.userId}`)
        yield* runMainJob(person)
        assert.notStrictEqual(running(), "")
        yield* Effect.flatten(uploadSkill(person))

        yield* person.raw("POST", "/api/agent", {
          body: { action: "update-skill", skillId: "web-fetch", enabled: true }
        })
        const read = (address: string) =>
          Effect.map(person.chat(`read the page http://${address}/`), ({ reply }) => reply)
        assert.include(yield* read(siteHost), "The tide is at four.")
        for (const inside of [
          "169.254.169.254",
          `127.0.0.1:${berth.place.backendPort}`,
          `${gateway}:${berth.place.backendPort}`,
          new URL(Redacted.value(databaseUrl)).host
        ])
          assert.include(yield* read(inside), "The host is not on the public internet, so it cannot be read.")

        yield* berth.signal("SIGTERM")
        assert.deepStrictEqual(yield* berth.ended, { code: 0, signal: null })
        assert.strictEqual(running(), "")
      })
  )
})
