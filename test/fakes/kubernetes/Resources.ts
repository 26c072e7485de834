export interface ResourceKind {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly singular: string
  readonly kind: string
  /** Type name in the published OpenAPI document. */
  readonly type: string
  readonly shortNames: ReadonlyArray<string>
  readonly isNamespaced: boolean
}

const resource = (
  group: string,
  plural: string,
  kind: string,
  shortNames: ReadonlyArray<string> = [],
  more: Partial<ResourceKind> = {}
): ResourceKind => ({
  group,
  version: "v1",
  plural,
  singular: kind.toLowerCase(),
  kind,
  type: `V1${kind}`,
  shortNames,
  isNamespaced: true,
  ...more
})

export const resources: ReadonlyArray<ResourceKind> = [
  resource("", "namespaces", "Namespace", ["ns"], { isNamespaced: false }),
  resource("", "pods", "Pod", ["po"]),
  resource("", "services", "Service", ["svc"]),
  resource("", "secrets", "Secret"),
  resource("", "configmaps", "ConfigMap", ["cm"]),
  resource("", "persistentvolumeclaims", "PersistentVolumeClaim", ["pvc"]),
  resource("", "events", "Event", ["ev"], { type: "CoreV1Event" }),
  resource("apps", "statefulsets", "StatefulSet", ["sts"]),
  resource("networking.k8s.io", "networkpolicies", "NetworkPolicy", ["netpol"]),
  resource("policy", "poddisruptionbudgets", "PodDisruptionBudget", ["pdb"])
]

export const apiVersionOf = ({ group, version }: ResourceKind) => (group === "" ? version : `${group}/${version}`)

/** The verbs in discovery documents. */
const allVerbs = ["create", "delete", "get", "list", "patch", "update", "watch"]

/** Discovery of one API group. */
export const describeResources = (groupVersion: string) => ({
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion,
  resources: resources
    .filter((kind) => apiVersionOf(kind) === groupVersion)
    .flatMap((kind) => [
      {
        name: kind.plural,
        singularName: kind.singular,
        namespaced: kind.isNamespaced,
        kind: kind.kind,
        verbs: allVerbs,
        shortNames: kind.shortNames
      },
      ...(kind.plural === "pods"
        ? [{ name: "pods/log", singularName: "", namespaced: true, kind: "Pod", verbs: ["get"] }]
        : []),
      ...(kind.plural === "statefulsets"
        ? [
            {
              name: "statefulsets/scale",
              singularName: "",
              namespaced: true,
              kind: "Scale",
              group: "autoscaling",
              version: "v1",
              verbs: ["get", "patch", "update"]
            }
          ]
        : [])
    ])
})

export const describeGroups = () => {
  const groups = [...new Set(resources.map(({ group }) => group))].filter((group) => group !== "")
  return {
    kind: "APIGroupList",
    apiVersion: "v1",
    groups: groups.map((name) => {
      const preferred = { groupVersion: `${name}/v1`, version: "v1" }
      return { name, versions: [preferred], preferredVersion: preferred }
    })
  }
}
