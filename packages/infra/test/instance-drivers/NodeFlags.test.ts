import {
  computeHeapMb,
  makeNodeFlags,
  detectPermissionFlags,
  makeWriteFlag,
  permissionFlagsOfVersion
} from "@berth/infra/instance-drivers/NodeFlags"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

describe("computeHeapMb", () => {
  it.each([
    [256, 160],
    [512, 416],
    [2048, 1792],
    [4096, 3584],
    [16384, 14336]
  ])("computeHeapMb gives an instance of %i MiB a heap of %i MiB", (memory, heap) => {
    assert.strictEqual(computeHeapMb(memory), heap)
  })

  it.prop(
    "computeHeapMb leaves memory outside of the heap, and grows with the memory",
    [FastCheck.integer({ min: 128, max: 65536 })],
    ([memory]) => {
      assert.isAtMost(computeHeapMb(memory), memory - 96)
      assert.isAtLeast(computeHeapMb(memory), 32)
      assert.isAtLeast(computeHeapMb(memory + 8), computeHeapMb(memory))
    }
  )
})

describe("detectPermissionFlags", () => {
  it.each([
    ["20", ["--experimental-permission"], "--experimental-permission", false],
    ["22 and 24", ["--experimental-permission", "--permission"], "--permission", false],
    ["with network permissions", ["--permission", "--allow-net"], "--permission", true],
    ["none", [], null, false]
  ])("detectPermissionFlags finds the flag of Node.js %s", (_, known, flag, net) => {
    assert.deepStrictEqual(detectPermissionFlags(new Set(known)), { switch: flag, net })
  })

  it("detectPermissionFlags finds a flag of the current Node.js", () => {
    assert.isNotNull(detectPermissionFlags(process.allowedNodeEnvironmentFlags).switch)
  })
})

describe("permissionFlagsOfVersion", () => {
  it.each([
    ["20.20.2", "--experimental-permission", false],
    ["v22.12.0", "--experimental-permission", false],
    ["22.13.0", "--permission", false],
    ["24.1.0", "--permission", false],
    ["25.0.0", "--permission", true],
    ["18.0.0", null, false],
    ["", null, false]
  ])("permissionFlagsOfVersion finds the flags of Node.js %s", (version, flag, net) => {
    assert.deepStrictEqual(permissionFlagsOfVersion(version), { switch: flag, net })
  })
})

describe("makeNodeFlags", () => {
  const flags = (permission: Parameters<typeof makeNodeFlags>[0]["permission"]) =>
    makeNodeFlags({
      permission,
      memoryMb: 256,
      bundle: "/b/runtime.mjs",
      home: "/instances/usr_1/home",
      sockets: "/tmp/berth/1"
    })

  it("makeNodeFlags allows reading the program and the own directory, and writing only that and the socket's", () => {
    const all = flags({ switch: "--permission", net: false })
    assert.deepStrictEqual(
      all.filter((flag) => flag.startsWith("--allow")),
      [
        "--allow-fs-read=/b/*",
        "--allow-fs-read=/instances/usr_1/home/*",
        makeWriteFlag("/instances/usr_1/home"),
        makeWriteFlag("/tmp/berth/1")
      ]
    )
    assert.include(all, "--permission")
    assert.include(all, "--max-old-space-size=160")
  })

  it("makeNodeFlags allows the network where the permission model covers it", () => {
    assert.include(flags({ switch: "--permission", net: true }), "--allow-net")
  })

  it("makeNodeFlags omits permissions on a Node.js without the model", () => {
    assert.deepStrictEqual(
      flags({ switch: null, net: false }).filter((flag) => flag.includes("allow")),
      []
    )
  })
})
