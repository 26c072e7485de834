import { Pod } from "@berth/infra/instance-drivers/kubernetes/ClusterModels"
import { readPodFigures, readPodState } from "@berth/infra/instance-drivers/kubernetes/PodState"
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"

const podOf = (status: object, metadata: object = {}) =>
  Schema.decodeUnknownSync(Pod)({ metadata: { name: "berth-1-0", ...metadata }, status })

const containerOf = (state: object, more: object = {}) =>
  podOf({
    phase: "Running",
    podIP: "10.0.0.7",
    containerStatuses: [{ name: "runtime", restartCount: 0, containerID: "containerd://1", state, ...more }]
  })
const terminated = { exitCode: 137, reason: "OOMKilled" }
const oom = { exitCode: 137, isOutOfMemory: true, error: "" }

describe("readPodState", () => {
  const cases: ReadonlyArray<readonly [string, Pod, object]> = [
    ["a pod without a status starts", podOf({}), { _tag: "Starting", problem: "" }],
    [
      "a pod without a node names the scheduler's reason",
      podOf({
        phase: "Pending",
        conditions: [{ type: "PodScheduled", status: "False", message: "0/3 nodes are available" }]
      }),
      { _tag: "Starting", problem: "0/3 nodes are available" }
    ],
    [
      "a container that is created starts",
      containerOf({ waiting: { reason: "ContainerCreating" } }),
      { _tag: "Starting", problem: "ContainerCreating" }
    ],
    [
      "a running container has an endpoint",
      containerOf({ running: { startedAt: "2026-01-01T00:00:00Z" } }),
      {
        _tag: "Running",
        endpoint: "http://10.0.0.7:8080",
        startedAt: "2026-01-01T00:00:00Z",
        containerId: "containerd://1"
      }
    ],
    [
      "a container that was killed for its memory has ended",
      containerOf({ terminated }),
      { _tag: "Ended", end: oom, isPrevious: false }
    ],
    [
      "a container in a crash loop has ended before",
      containerOf({ waiting: { reason: "CrashLoopBackOff" } }, { lastState: { terminated } }),
      { _tag: "Ended", end: oom, isPrevious: true }
    ],
    [
      "a missing Secret blocks the container",
      containerOf({ waiting: { reason: "CreateContainerConfigError", message: 'secret "a" not found' } }),
      { _tag: "Blocked", problem: 'CreateContainerConfigError: secret "a" not found' }
    ],
    [
      "an evicted pod has ended",
      podOf({ phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory." }),
      {
        _tag: "Ended",
        end: { exitCode: -1, isOutOfMemory: false, error: "Evicted: The node was low on resource: memory." },
        isPrevious: false
      }
    ],
    [
      "a deleted pod terminates",
      podOf({ phase: "Running" }, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
      { _tag: "Terminating" }
    ]
  ]
  it.each(cases)("readPodState: %s", (_, pod, expected) => {
    assert.deepStrictEqual({ ...readPodState(pod) }, expected)
  })

  it.each(["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"])(
    "readPodState blocks on %s, with what to check",
    (reason) => {
      const state = readPodState(containerOf({ waiting: { reason, message: "not found" } }))
      assert.strictEqual(state._tag, "Blocked")
      assert.include(JSON.stringify(state), `its image cannot be pulled (${reason}: not found). Check RUNTIME_IMAGE`)
    }
  )

  it("readPodState puts an IPv6 address into brackets", () => {
    const state = readPodState(
      podOf({
        podIP: "fd00::7",
        containerStatuses: [
          { name: "runtime", restartCount: 0, state: { running: { startedAt: "2026-01-01T00:00:00Z" } } }
        ]
      })
    )
    assert.include(JSON.stringify(state), "http://[fd00::7]:8080")
  })
})

describe("readPodFigures", () => {
  const figuresOf = (cpu: string, memory: string) =>
    Option.getOrNull(readPodFigures({ containers: [{ name: "runtime", usage: { cpu, memory } }] }))
  it.each([
    ["250m", "64Mi", 25, 67_108_864],
    ["1500000000n", "65536Ki", 150, 67_108_864],
    ["1", "67108864", 100, 67_108_864],
    ["250000u", "1Gi", 25, 1_073_741_824]
  ] as const)("readPodFigures reads the quantities %s and %s", (cpu, memory, cpuPercent, memoryBytes) => {
    const figures = figuresOf(cpu, memory)
    assert.approximately(figures?.cpuPercent ?? 0, cpuPercent, 1e-6)
    assert.strictEqual(figures?.memoryBytes, memoryBytes)
  })

  it("readPodFigures has no figure for an unknown unit, and none for another container", () => {
    assert.deepStrictEqual(figuresOf("1x", "1x"), { cpuPercent: null, memoryBytes: null })
    assert.isTrue(Option.isNone(readPodFigures({ containers: [] })))
  })
})
