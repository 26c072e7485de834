import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import { UserId } from "@berth/domain/shared/UserId"
import { findProfileDifferences, makeContainerProfile } from "@berth/infra/instance-drivers/docker/ContainerProfile"
import type { ContainerCreation } from "@berth/infra/instance-drivers/docker/EngineModels"
import { findNetworkWeaknesses, makeNetworkCreation } from "@berth/infra/instance-drivers/docker/InstanceNetwork"
import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"

const spec: InstanceSpec = {
  owner: UserId.make("usr_ada"),
  memoryMb: 256,
  cpus: 0.5,
  diskMb: 128,
  token: Redacted.make("a secret token"),
  backendUrl: "http://10.0.0.1:4000"
}
const image = { Id: "sha256:1", Config: { Env: ["PATH=/bin", "NODE_VERSION=24.1.0"] } }
const placement = { installation: "one", volume: "berth-one-usr_ada", network: "berth" }
const profile = makeContainerProfile(spec, image, placement)

/** The engine's view of a container, as it was created. */
const inspect = ({ Cmd, Entrypoint, Env, HostConfig, Labels, User }: ContainerCreation) => ({
  Config: { User, Cmd, Entrypoint, Env: ["PATH=/bin", ...Env], Labels },
  HostConfig
})

describe("makeContainerProfile", () => {
  it("makeContainerProfile drops every right and sets every limit", () => {
    const { HostConfig, User } = profile
    assert.strictEqual(User, "65534:65534")
    assert.deepInclude(HostConfig, {
      Privileged: false,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      ReadonlyRootfs: true,
      Memory: 256 * 1024 * 1024,
      MemorySwap: 256 * 1024 * 1024,
      CpuQuota: 50_000,
      CpuPeriod: 100_000,
      PidsLimit: 64
    })
  })

  it("makeContainerProfile mounts the instance's volume and nothing of the host", () => {
    assert.deepStrictEqual(profile.HostConfig.Mounts, [
      { Type: "volume", Source: "berth-one-usr_ada", Target: "/data" }
    ])
    assert.deepStrictEqual(profile.HostConfig.Binds, [])
    assert.notInclude(JSON.stringify(profile), "docker.sock")
  })

  it("makeContainerProfile does not contain the token", () => {
    assert.notInclude(JSON.stringify(profile), "a secret token")
  })

  it("makeContainerProfile names installation and owner", () => {
    assert.deepInclude(profile.Labels, { "berth.installation": "one", "berth.owner": "usr_ada" })
  })
})

/** Each one weakens or changes a setting. */
const changes: ReadonlyArray<Partial<ContainerCreation["HostConfig"]>> = [
  { Privileged: true },
  { CapAdd: ["NET_ADMIN"] },
  { CapDrop: [] },
  { SecurityOpt: [] },
  { SecurityOpt: ["no-new-privileges", "seccomp=unconfined"] },
  { ReadonlyRootfs: false },
  { NetworkMode: "bridge" },
  { NetworkMode: "host" },
  { PidMode: "host" },
  { IpcMode: "host" },
  { UTSMode: "host" },
  { UsernsMode: "host" },
  { GroupAdd: ["0"] },
  { Binds: ["/:/host"] },
  { VolumesFrom: ["other"] },
  { Devices: [{ PathOnHost: "/dev/kmsg" }] },
  { Mounts: [{ Type: "bind", Source: "/var/run/docker.sock", Target: "/docker.sock" }] },
  { Tmpfs: {} },
  { ShmSize: 64 * 1024 * 1024 },
  { Dns: [] },
  { Memory: 0 },
  { MemorySwap: -1 },
  { CpuQuota: 0 },
  { PidsLimit: 0 },
  { Ulimits: [] },
  { OomScoreAdj: -500 },
  { PublishAllPorts: true },
  { RestartPolicy: { Name: "always", MaximumRetryCount: 0 } },
  { LogConfig: { Type: "json-file", Config: {} } }
]

describe("findProfileDifferences", () => {
  it("findProfileDifferences finds none in a container of the profile", () => {
    assert.deepStrictEqual(findProfileDifferences(profile, inspect(profile)), [])
  })

  it("findProfileDifferences accepts null for an empty list, as the engine answers", () => {
    const { Config, HostConfig } = inspect(profile)
    const answered = { ...HostConfig, CapAdd: null, Binds: null, Devices: null }
    assert.deepStrictEqual(findProfileDifferences(profile, { Config, HostConfig: answered }), [])
  })

  it.each(changes)("findProfileDifferences names the setting of a container with %o", (change) => {
    const weaker = { ...profile, HostConfig: { ...profile.HostConfig, ...change } }
    assert.deepStrictEqual(findProfileDifferences(profile, inspect(weaker)), Object.keys(change))
  })

  it("findProfileDifferences names the account, the program and the environment", () => {
    assert.deepStrictEqual(findProfileDifferences(profile, inspect({ ...profile, User: "0:0" })), ["User"])
    assert.deepStrictEqual(findProfileDifferences(profile, inspect({ ...profile, Cmd: [] })), ["Cmd"])
    assert.deepStrictEqual(findProfileDifferences(profile, inspect({ ...profile, Env: [] })), ["Env"])
  })

  it("findProfileDifferences names the changed setting of another plan", () => {
    const larger = makeContainerProfile({ ...spec, memoryMb: 512, cpus: 1 }, image, placement)
    assert.includeMembers([...findProfileDifferences(larger, inspect(profile))], ["Memory", "MemorySwap", "CpuQuota"])
  })
})

describe("findNetworkWeaknesses", () => {
  const { Driver, EnableIPv6, Internal, Options } = makeNetworkCreation("berth")
  const made = { Driver, EnableIPv6, Internal, Options }

  it("findNetworkWeaknesses finds none in a network that the driver makes", () => {
    assert.deepStrictEqual(findNetworkWeaknesses(made), [])
  })

  it.each([{ Driver: "host" }, { Internal: false }, { Options: {} }, { EnableIPv6: true }])(
    "findNetworkWeaknesses finds one in a network with %o",
    (change) => {
      assert.strictEqual(findNetworkWeaknesses({ ...made, ...change }).length, 1)
    }
  )
})
