import { Data, Duration } from "effect"

export class ClusterUnreachable extends Data.TaggedError("ClusterUnreachable")<{
  readonly address: string
  readonly reason: string
}> {
  override readonly message = `The Kubernetes API server at ${this.address} cannot be reached (${this.reason}). Check KUBECONFIG and the network between backend and cluster.`
}

/** The API server accepted a request but did not respond in time, or requested fewer calls. */
export class ClusterUnresponsive extends Data.TaggedError("ClusterUnresponsive")<{
  readonly address: string
  readonly operation: string
  readonly within: Duration.Duration
}> {
  override readonly message = `The Kubernetes API server at ${this.address} did not answer ${this.operation} within ${Duration.format(this.within)}. Check its load with \`kubectl get --raw /readyz?verbose\`.`
}

class ClusterCredentialsRejected extends Data.TaggedError("ClusterCredentialsRejected")<{
  readonly operation: string
}> {
  override readonly message = `The Kubernetes API server rejected the backend's credentials for ${this.operation} (401). Renew them in KUBECONFIG, or mount the service account's token.`
}

/** RBAC does not permit the request of the backend. */
class ClusterAccessForbidden extends Data.TaggedError("ClusterAccessForbidden")<{
  readonly operation: string
  readonly reason: string
}> {
  override readonly message = `The backend may not do ${this.operation} in Kubernetes: ${this.reason}. Apply the Role of deploy/kubernetes/rbac.yaml.`
}

export class ClusterQuotaExceeded extends Data.TaggedError("ClusterQuotaExceeded")<{ readonly reason: string }> {
  override readonly message = `A quota of the Kubernetes namespace is used up: ${this.reason}. Raise it, or remove instances.`
}

/** An admission policy of the cluster denies an object of the driver. */
export class ClusterAdmissionDenied extends Data.TaggedError("ClusterAdmissionDenied")<{ readonly reason: string }> {
  override readonly message = `An admission policy of the Kubernetes cluster denies the instance: ${this.reason}. Allow the profile of deploy/kubernetes, which meets the Pod Security Standard "restricted".`
}

/** Nodes or volumes for an instance are currently unavailable. */
export class ClusterResourcesMissing extends Data.TaggedError("ClusterResourcesMissing")<{
  readonly reason: string
  readonly advice: string
}> {
  override readonly message = `${this.reason}. ${this.advice}`
}

/** The API server responded with another error status. */
class ClusterRequestRejected extends Data.TaggedError("ClusterRequestRejected")<{
  readonly operation: string
  readonly status: number
  readonly reason: string
  readonly retryAfter: number
}> {
  override readonly message = `The Kubernetes API server rejected ${this.operation} (${this.status}): ${this.reason}.`
}

/** The response violates the API: the peer is not an API server, or of an unsupported version. */
export class ClusterResponseMalformed extends Data.TaggedError("ClusterResponseMalformed")<{
  readonly operation: string
  readonly reason: string
}> {
  override readonly message = `The response to ${this.operation} is not one of a Kubernetes API server: ${this.reason}`
}

/** KUBECONFIG does not describe a usable connection. */
export class ClusterConfigurationInvalid extends Data.TaggedError("ClusterConfigurationInvalid")<{
  readonly reason: string
}> {
  override readonly message = `The Kubernetes configuration cannot be used: ${this.reason}. Set KUBECONFIG to a file that \`kubectl\` accepts, or run the backend in the cluster.`
}

export type ClusterError =
  | ClusterUnreachable
  | ClusterUnresponsive
  | ClusterCredentialsRejected
  | ClusterAccessForbidden
  | ClusterQuotaExceeded
  | ClusterAdmissionDenied
  | ClusterResourcesMissing
  | ClusterRequestRejected
  | ClusterResponseMalformed

const hostErrors = new Set([
  "ClusterUnreachable",
  "ClusterUnresponsive",
  "ClusterCredentialsRejected",
  "ClusterAccessForbidden",
  "ClusterQuotaExceeded",
  "ClusterAdmissionDenied",
  "ClusterResourcesMissing"
])

/** Whether the cluster instead of the instance causes the failure. */
export const isClusterFault = (error: { readonly _tag: string; readonly status?: number }): boolean =>
  hostErrors.has(error._tag) ||
  (error._tag === "ClusterRequestRejected" &&
    error.status !== undefined &&
    (error.status === 429 || error.status >= 500))

export const toClusterError = (operation: string, status: number, reason: string, retryAfter: number): ClusterError => {
  if (status === 401) return new ClusterCredentialsRejected({ operation })
  if (status !== 403 && status !== 400 && status !== 422)
    return new ClusterRequestRejected({ operation, status, reason, retryAfter })
  if (/exceeded quota/.test(reason)) return new ClusterQuotaExceeded({ reason })
  if (/violates PodSecurity|admission webhook|denied the request|ValidatingAdmissionPolicy/.test(reason))
    return new ClusterAdmissionDenied({ reason })
  return status === 403
    ? new ClusterAccessForbidden({ operation, reason })
    : new ClusterRequestRejected({ operation, status, reason, retryAfter })
}
