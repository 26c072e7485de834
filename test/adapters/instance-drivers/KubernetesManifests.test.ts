import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import { UserId } from "@berth/domain/shared/UserId"
import { makeBackendPeer } from "@berth/infra/instance-drivers/kubernetes/BackendPeer"
import * as Manifests from "@berth/infra/instance-drivers/kubernetes/InstanceManifests"
import { makePodNames } from "@berth/infra/instance-drivers/kubernetes/PodNames"
import { permissionFlagsOfVersion } from "@berth/infra/instance-drivers/NodeFlags"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option, Redacted } from "effect"
import { copy, type JsonObject, objectAt, objectsAt } from "../../fakes/kubernetes/Json.ts"
import { findObjectFaults } from "../../fakes/kubernetes/ObjectSchema.ts"
import { findRestrictedViolations } from "../../fakes/kubernetes/PodSecurity.ts"

const specOf = (owner: string, changes: Partial<InstanceSpec> = {}): InstanceSpec => ({
  owner: UserId.make(owner),
  memoryMb: 256,
  cpus: 0.5,
  diskMb: 128,
  token: Redacted.make("a secret token"),
  backendUrl: "http://berth-backend.berth.svc:4001",
  ...changes
})
const namesOf = (owner: string) => makePodNames(UserId.make(owner), "/data/instances")
const image = `registry.example.com/berth-runtime@sha256:${"1".repeat(64)}`
const backend = makeBackendPeer(new URL("http://berth-backend.berth.svc:4001"), "instances")

const makeObjects = (spec: InstanceSpec) => {
  const names = Option.getOrThrow(namesOf(spec.owner))
  const namespace = "instances"
  return [
    ["V1PersistentVolumeClaim", Manifests.makeVolumeClaim(spec, names, namespace)],
    ["V1Secret", Manifests.makeSecret(spec, names, namespace)],
    ["V1Service", Manifests.makeService(names, namespace)],
    ["V1NetworkPolicy", Manifests.makeNetworkPolicy(names, namespace, backend)],
    ["V1PodDisruptionBudget", Manifests.makeDisruptionBudget(names, namespace)],
    [
      "V1StatefulSet",
      Manifests.makeStatefulSet(spec, names, {
        namespace,
        image,
        accepted: { image, runtimeVersion: "1.0.0" },
        replicas: 1,
        permission: permissionFlagsOfVersion("24.0.0")
      })
    ],
    ["V1Pod", Manifests.makeTaskPod(names, { namespace, image, command: ["node", "-e", "0"], isRunning: true })]
  ] as const
}
const setOf = (spec: InstanceSpec) => copy(makeObjects(spec)[5][1])
const podOf = (spec: InstanceSpec) => objectAt(setOf(spec), "spec", "template", "spec")

const ownerId = FastCheck.stringMatching(/^[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$/)

describe("The manifests of an instance", () => {
  it("The manifests pass strict field validation for every owner and plan", () => {
    FastCheck.assert(
      FastCheck.property(
        ownerId,
        FastCheck.integer({ min: 64, max: 65_536 }),
        FastCheck.double({ min: 0.1, max: 64, noNaN: true }),
        FastCheck.integer({ min: 1, max: 100_000 }),
        (owner, memoryMb, cpus, diskMb) => {
          for (const [type, manifest] of makeObjects(specOf(owner, { memoryMb, cpus, diskMb })))
            assert.deepStrictEqual(findObjectFaults(copy(manifest), type), [])
        }
      ),
      { numRuns: 50 }
    )
  })

  it("makePodNames gives different owners different names", () => {
    FastCheck.assert(
      FastCheck.property(ownerId, ownerId, (one, other) => {
        const [first, second] = [namesOf(one), namesOf(other)].map(Option.getOrThrow)
        assert.strictEqual(first?.name === second?.name, one === other)
      })
    )
    const alike = ["usr_a", "usr-a", "USR_A", "usr_a-b", "usr_a_b"].map(
      (owner) => Option.getOrThrow(namesOf(owner)).name
    )
    assert.strictEqual(new Set(alike).size, alike.length)
  })

  it("makePodNames refuses an id that is no label value", () => {
    for (const owner of ["", ".", "../evil", "a/b", "a\0b", "-a", "a_", "ü", "a".repeat(64)])
      assert.isTrue(Option.isNone(namesOf(owner)), owner)
  })

  it("The pods of instance and task meet the Pod Security Standard `restricted`", () => {
    const task = objectAt(copy(makeObjects(specOf("usr_ada"))[6][1]), "spec")
    for (const pod of [podOf(specOf("usr_ada")), task]) assert.deepStrictEqual(findRestrictedViolations(pod), [])
  })

  it("The pod has no service account, no root file system to write, and limits by plan", () => {
    const pod = podOf(specOf("usr_ada", { memoryMb: 2048, cpus: 1.5 }))
    assert.deepInclude(pod, { automountServiceAccountToken: false, enableServiceLinks: false })
    const [container = {}] = objectsAt(pod, "containers")
    assert.deepInclude(objectAt(container, "securityContext"), { readOnlyRootFilesystem: true })
    assert.deepStrictEqual(objectAt(container, "resources", "limits"), {
      memory: "2048Mi",
      cpu: "1500m",
      "ephemeral-storage": "256Mi"
    })
  })

  it("Only the Secret contains the token", () => {
    for (const [type, manifest] of makeObjects(specOf("usr_ada"))) {
      const text = JSON.stringify(manifest)
      assert.notInclude(text, "a secret token")
      assert.strictEqual(text.includes(Buffer.from("a secret token").toString("base64")), type === "V1Secret")
    }
  })

  it("The profile of a pod changes with its image, memory and backend, and not with its token", () => {
    const profileOf = (spec: InstanceSpec) =>
      objectAt(setOf(spec), "spec", "template", "metadata", "annotations")[Manifests.profileAnnotation]
    const base = profileOf(specOf("usr_ada"))
    assert.strictEqual(profileOf(specOf("usr_ada", { token: Redacted.make("other") })), base)
    assert.notStrictEqual(profileOf(specOf("usr_ada", { memoryMb: 512 })), base)
    assert.notStrictEqual(profileOf(specOf("usr_ada", { backendUrl: "http://10.0.0.2:4001" })), base)
  })

  it("The network policy allows the backend and the name server, and nothing else", () => {
    const policy = objectAt(copy(makeObjects(specOf("usr_ada"))[3][1]), "spec")
    const peer = {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "berth" } },
      podSelector: { matchLabels: { "app.kubernetes.io/part-of": "berth", "app.kubernetes.io/component": "backend" } }
    }
    assert.deepStrictEqual(policy["policyTypes"], ["Ingress", "Egress"])
    assert.deepStrictEqual(policy["ingress"], [{ from: [peer], ports: [{ protocol: "TCP", port: 8080 }] }])
    const [toBackend, toNames, ...others] = objectsAt(policy, "egress")
    assert.deepStrictEqual(toBackend, { to: [peer], ports: [{ protocol: "TCP", port: 4001 }] })
    assert.deepStrictEqual(
      objectsAt(toNames, "ports").map(({ port }) => port),
      [53, 53]
    )
    assert.deepStrictEqual(others, [])
  })

  it("makeBackendPeer allows an address alone, and no name server", () => {
    const cases = [
      ["http://10.1.2.3:4001", { ipBlock: { cidr: "10.1.2.3/32" } }, 4001],
      ["http://[fd00::1]:4001", { ipBlock: { cidr: "fd00::1/128" } }, 4001],
      ["https://10.1.2.3", { ipBlock: { cidr: "10.1.2.3/32" } }, 443]
    ] as const
    for (const [url, peer, port] of cases)
      assert.deepStrictEqual(makeBackendPeer(new URL(url), "instances"), { peer, port, names: [] })
  })
})

/** Each one weakens the container or the pod. */
const weaker: ReadonlyArray<readonly [string, (pod: JsonObject, container: JsonObject) => unknown]> = [
  [
    "privileged",
    (_, { securityContext }) => Object.assign(objectAt({ securityContext }, "securityContext"), { privileged: true })
  ],
  [
    "allowPrivilegeEscalation",
    (_, container) => delete objectAt(container, "securityContext")["allowPrivilegeEscalation"]
  ],
  [
    "unrestricted capabilities",
    (_, container) => Object.assign(objectAt(container, "securityContext"), { capabilities: {} })
  ],
  [
    "unrestricted capabilities",
    (_, container) =>
      Object.assign(objectAt(container, "securityContext"), { capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] } })
  ],
  ["runAsUser=0", (pod) => Object.assign(objectAt(pod, "securityContext"), { runAsUser: 0 })],
  [
    "runAsNonRoot",
    (pod, container) => {
      delete objectAt(pod, "securityContext")["runAsNonRoot"]
      delete objectAt(container, "securityContext")["runAsNonRoot"]
    }
  ],
  [
    "seccompProfile",
    (pod) => Object.assign(objectAt(pod, "securityContext"), { seccompProfile: { type: "Unconfined" } })
  ],
  ["hostNetwork", (pod) => Object.assign(pod, { hostNetwork: true })],
  ["hostPID", (pod) => Object.assign(pod, { hostPID: true })],
  ["hostIPC", (pod) => Object.assign(pod, { hostIPC: true })],
  ["hostPath", (pod) => Object.assign(pod, { volumes: [{ name: "data", hostPath: { path: "/" } }] })],
  ["hostPort", (_, container) => Object.assign(container, { ports: [{ containerPort: 8080, hostPort: 80 }] })]
]

describe("findRestrictedViolations", () => {
  it.each(weaker)("findRestrictedViolations refuses a weaker pod: %s", (expected, weaken) => {
    const pod = podOf(specOf("usr_ada"))
    const [container = {}] = objectsAt(pod, "containers")
    weaken(pod, container)
    assert.include(findRestrictedViolations(pod).join("; "), expected)
  })
})

describe("findObjectFaults", () => {
  const set = () => setOf(specOf("usr_ada"))
  const cases: ReadonlyArray<readonly [string, (object: JsonObject) => unknown]> = [
    ['unknown field "spec.replica"', (object) => Object.assign(objectAt(object, "spec"), { replica: 1 })],
    ['unable to decode "spec.replicas"', (object) => Object.assign(objectAt(object, "spec"), { replicas: "1" })],
    ['unable to decode "spec.replicas"', (object) => Object.assign(objectAt(object, "spec"), { replicas: 0.5 })],
    ["spec.serviceName: Required value", (object) => delete objectAt(object, "spec")["serviceName"]],
    ["must be no more than 52", (object) => Object.assign(objectAt(object, "metadata"), { name: "a".repeat(53) })],
    ["lowercase RFC 1123", (object) => Object.assign(objectAt(object, "metadata"), { name: "Usr_ada" })],
    ["a valid label", (object) => Object.assign(objectAt(object, "metadata", "labels"), { "berth.owner": "a b" })],
    [
      "does not match template",
      (object) => Object.assign(objectAt(object, "spec", "selector", "matchLabels"), { other: "label" })
    ]
  ]
  it.each(cases)("findObjectFaults refuses an object: %s", (expected, change) => {
    const object = set()
    change(object)
    assert.include(findObjectFaults(object, "V1StatefulSet").join("; "), expected)
  })
})
