import type { V1NetworkPolicyEgressRule, V1NetworkPolicyPeer } from "@kubernetes/client-node"
import { isIP } from "node:net"
import { backendLabels } from "./PodNames.ts"

const namespaceLabel = "kubernetes.io/metadata.name"

/** The backend as accessed by instances: an address, or a Service `<name>[.<namespace>[.svc...]]`. */
export interface BackendPeer {
  readonly port: number
  readonly peer: V1NetworkPolicyPeer
  /** Egress to the cluster's name server; none if the backend is an address. */
  readonly names: ReadonlyArray<V1NetworkPolicyEgressRule>
}

export const makeBackendPeer = (url: URL, namespace: string): BackendPeer => {
  const port = Number(url.port === "" ? (url.protocol === "https:" ? 443 : 80) : url.port)
  const host = url.hostname.replace(/^\[|\]$/g, "")
  const version = isIP(host)
  if (version !== 0) return { port, peer: { ipBlock: { cidr: `${host}/${version === 4 ? 32 : 128}` } }, names: [] }
  const [, backendNamespace = namespace] = host.split(".")
  return {
    port,
    peer: {
      namespaceSelector: { matchLabels: { [namespaceLabel]: backendNamespace } },
      podSelector: { matchLabels: backendLabels }
    },
    names: [
      {
        to: [
          {
            namespaceSelector: { matchLabels: { [namespaceLabel]: "kube-system" } },
            podSelector: { matchLabels: { "k8s-app": "kube-dns" } }
          }
        ],
        ports: [
          { protocol: "UDP", port: 53 },
          { protocol: "TCP", port: 53 }
        ]
      }
    ]
  }
}
