import {
  computeHeapMb,
  makeNodeFlags,
  detectPermissionFlags,
  makeWriteFlag
} from "@berth/infra/instance-drivers/process/NodeFlags"
import { describe, expect, it } from "@effect/vitest"
import { FastCheck } from "effect"

describe("the heap of a cell", () => {
  it.each([
    [256, 160],
    [512, 416],
    [2048, 1792],
    [4096, 3584],
    [16384, 14336]
  ])("of %i MiB is %i MiB", (memory, heap) => {
    expect(computeHeapMb(memory)).toBe(heap)
  })

  it.prop(
    "leaves room for what is not on it, and grows with the memory",
    [FastCheck.integer({ min: 128, max: 65536 })],
    ([memory]) => {
      expect(computeHeapMb(memory)).toBeLessThanOrEqual(memory - 96)
      expect(computeHeapMb(memory)).toBeGreaterThanOrEqual(32)
      expect(computeHeapMb(memory + 8)).toBeGreaterThanOrEqual(computeHeapMb(memory))
    }
  )
})

describe("the permission model", () => {
  it.each([
    ["20", ["--experimental-permission"], "--experimental-permission", false],
    ["22 and 24", ["--experimental-permission", "--permission"], "--permission", false],
    ["one that takes the network too", ["--permission", "--allow-net"], "--permission", true],
    ["none", [], null, false]
  ])("is switched on as Node.js %s knows it", (_, known, flag, net) => {
    expect(detectPermissionFlags(new Set(known))).toStrictEqual({ switch: flag, net })
  })

  it("is known to the Node.js that runs this", () => {
    expect(detectPermissionFlags(process.allowedNodeEnvironmentFlags).switch).not.toBeNull()
  })
})

describe("the flags of a cell", () => {
  const flags = (permission: Parameters<typeof makeNodeFlags>[0]["permission"]) =>
    makeNodeFlags({ permission, memoryMb: 256, bundle: "/b/runtime.mjs", home: "/cells/usr_1/home" })

  it("let it read the program and its own directory, and write the latter alone", () => {
    const all = flags({ switch: "--permission", net: false })
    expect(all.filter((flag) => flag.startsWith("--allow"))).toStrictEqual([
      "--allow-fs-read=/b/runtime.mjs",
      "--allow-fs-read=/cells/usr_1/home/*",
      makeWriteFlag("/cells/usr_1/home")
    ])
    expect(all).toContain("--permission")
    expect(all).toContain("--max-old-space-size=160")
  })

  it("give the network back where it would be taken", () => {
    expect(flags({ switch: "--permission", net: true })).toContain("--allow-net")
  })

  it("leave permissions out where there are none", () => {
    expect(flags({ switch: null, net: false }).filter((flag) => flag.includes("allow"))).toStrictEqual([])
  })
})
