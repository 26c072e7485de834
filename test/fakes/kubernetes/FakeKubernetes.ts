import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:https"
// An API server ends watches and sends bookmarks on timers.
import { setInterval, setTimeout } from "node:timers"
import { parse } from "yaml"
import { runControllers } from "./Controllers.ts"
import { ApplyConflict, applyFields, merge, mergePatch, trackUpdate } from "./FieldManagement.ts"
import { at, copy, isObject, type JsonObject, objectAt, objectsAt, textAt, textsAt } from "./Json.ts"
import { makeKubelet } from "./Kubelet.ts"
import { findChangeFaults, findObjectFaults } from "./ObjectSchema.ts"
import { makeObjectStore, matchesFields, matchesSelector, nameOf, now, type StoredChange } from "./ObjectStore.ts"
import { findRestrictedViolations } from "./PodSecurity.ts"
import { makeSelfSignedCertificate } from "./SelfSignedCertificate.ts"
import { apiVersionOf, describeGroups, describeResources, type ResourceKind, resources } from "./Resources.ts"

/** Rights of a bearer token: rules of a Role, or everything. */
export type Rights = "all" | ReadonlyArray<JsonObject>

interface FakeKubernetesOptions {
  /** Directory of the pods' volumes and logs. */
  readonly directory: string
  readonly programOf: (image: string) => string | undefined
  readonly rights: ReadonlyMap<string, Rights>
  /** Milliseconds between two bookmarks. */
  readonly bookmarkMs?: number
}

/** An error response: a `Status` object. */
class ApiError extends Error {
  readonly status: number
  readonly reason: string
  readonly retryAfter: number | undefined
  constructor(status: number, reason: string, message: string, retryAfter?: number) {
    super(message)
    this.status = status
    this.reason = reason
    this.retryAfter = retryAfter
  }
}

const toStatus = (code: number, reason: string, message: string) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message,
  reason,
  code
})

interface Target {
  readonly kind: ResourceKind
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly query: URLSearchParams
}

/** A fault that a test injects before a request is handled. */
type Intercept = (
  method: string,
  path: string
) => { readonly status: number; readonly message: string } | "hang" | "reset" | undefined

const parseTarget = (url: URL): Target | undefined => {
  const [, coreRest, group, groupRest] = /^(?:\/api\/v1\/(.*)|\/apis\/([^/]+)\/v1\/(.*))$/.exec(url.pathname) ?? []
  const parts = (coreRest ?? groupRest ?? "").split("/").map(decodeURIComponent)
  const isInNamespace = parts[0] === "namespaces" && parts.length > 2
  const [plural = "", name = "", subresource = ""] = isInNamespace ? parts.slice(2) : parts
  const kind = resources.find((candidate) => candidate.plural === plural && candidate.group === (group ?? ""))
  return kind === undefined
    ? undefined
    : { kind, namespace: isInNamespace ? (parts[1] ?? "") : "", name, subresource, query: url.searchParams }
}

const readBody = async (request: IncomingMessage): Promise<JsonObject> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  if (text === "") return {}
  const value: unknown = parse(text)
  if (!isObject(value)) throw new ApiError(400, "BadRequest", "the body is not an object")
  return value
}

const isTrue = (query: URLSearchParams, name: string) => query.get(name) === "true" || query.get(name) === "1"

let addresses = 0

/** An API server with its store, controllers and one node, whose pods run as child processes. */
export const makeFakeKubernetes = ({ bookmarkMs = 500, directory, programOf, rights }: FakeKubernetesOptions) => {
  const store = makeObjectStore()
  /** Verbs that each token used, as `<group>/<resource> <verb>`. */
  const usedVerbs = new Set<string>()
  const watches = new Set<ServerResponse>()
  const podQuotas = new Map<string, number>()
  const faults: {
    intercept: Intercept
    denial: (object: JsonObject) => string
    unschedulable: string
    bindsClaims: boolean
    hasMetrics: boolean
  } = { intercept: () => undefined, denial: () => "", unschedulable: "", bindsClaims: true, hasMetrics: true }
  const nextAddress = () => {
    addresses += 1
    return `127.${64 + ((process.pid >> 8) & 63)}.${process.pid & 255}.${(addresses % 250) + 2}`
  }
  const kubelet = makeKubelet({ store, programOf, directory, nextAddress })

  const denyPod = (pod: JsonObject): string => {
    const namespace = textAt(pod, "metadata", "namespace")
    const forbidden = (reason: string) => `pods "${nameOf(pod)}" is forbidden: ${reason}`
    const level = textAt(
      store.get("namespaces", "", namespace),
      "metadata",
      "labels",
      "pod-security.kubernetes.io/enforce"
    )
    const violations = level === "restricted" ? findRestrictedViolations(objectAt(pod, "spec")) : []
    if (violations.length > 0) return forbidden(`violates PodSecurity "restricted:latest": ${violations.join(", ")}`)
    const quota = podQuotas.get(namespace)
    if (quota !== undefined && store.list("pods", namespace).length >= quota)
      return forbidden(`exceeded quota: pods, requested: pods=1, used: pods=${quota}, limited: pods=${quota}`)
    return faults.denial(pod)
  }
  const stopControllers = runControllers({
    store,
    kubelet,
    denyPod,
    denyNode: () => faults.unschedulable,
    bindsClaims: () => faults.bindsClaims
  })

  const requireRight = (token: string, { kind, name, subresource }: Target, verb: string) => {
    const resource = subresource === "" ? kind.plural : `${kind.plural}/${subresource}`
    const granted = rights.get(token)
    if (granted === undefined) throw new ApiError(401, "Unauthorized", "Unauthorized")
    if (granted !== "all") {
      usedVerbs.add(`${kind.group}/${resource} ${verb}`)
      const allowed = granted.some(
        (rule) =>
          textsAt(rule, "apiGroups").includes(kind.group) &&
          textsAt(rule, "resources").includes(resource) &&
          textsAt(rule, "verbs").includes(verb)
      )
      if (!allowed)
        throw new ApiError(
          403,
          "Forbidden",
          `${resource}${name === "" ? "" : ` "${name}"`} is forbidden: User "system:serviceaccount:berth:backend" cannot ${verb} resource "${resource}" in API group "${kind.group}"`
        )
    }
  }

  const notFound = ({ kind, name }: Target) => new ApiError(404, "NotFound", `${kind.plural} "${name}" not found`)
  const requireObject = (target: Target): JsonObject => {
    const found = store.get(target.kind.plural, target.namespace, target.name)
    if (found === undefined) throw notFound(target)
    return found
  }

  const validate = (target: Target, object: JsonObject, before: JsonObject | undefined) => {
    const { kind, namespace } = target
    const own = textAt(object, "metadata", "namespace")
    if (own !== namespace && kind.isNamespaced && own !== "")
      throw new ApiError(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request"
      )
    if (textAt(object, "kind") !== kind.kind || textAt(object, "apiVersion") !== apiVersionOf(kind))
      throw new ApiError(
        400,
        "BadRequest",
        `${kind.kind} in version "${textAt(object, "apiVersion")}" cannot be handled as a ${kind.kind}`
      )
    const version = textAt(object, "metadata", "resourceVersion")
    if (before !== undefined && version !== "" && version !== textAt(before, "metadata", "resourceVersion"))
      throw new ApiError(
        409,
        "Conflict",
        `Operation cannot be fulfilled on ${kind.plural} "${target.name}": the object has been modified; please apply your changes to the latest version and try again`
      )
    const schemaFaults = findObjectFaults(object, kind.type)
    if (schemaFaults.length > 0) {
      const isStrict = schemaFaults.some((fault) => /^(unknown field|unable to decode)/.test(fault))
      throw new ApiError(
        isStrict ? 400 : 422,
        isStrict ? "BadRequest" : "Invalid",
        isStrict
          ? `strict decoding error: ${schemaFaults.join(", ")}`
          : `${kind.kind} "${nameOf(object)}" is invalid: ${schemaFaults.join(", ")}`
      )
    }
    const changeFaults = before === undefined ? [] : findChangeFaults(before, object)
    if (changeFaults.length > 0)
      throw new ApiError(422, "Invalid", `${kind.kind} "${nameOf(object)}" is invalid: ${changeFaults.join(", ")}`)
    if (before === undefined && kind.isNamespaced && store.get("namespaces", "", namespace) === undefined)
      throw new ApiError(404, "NotFound", `namespaces "${namespace}" not found`)
    const denial =
      kind.plural === "pods" && before === undefined
        ? denyPod(object)
        : kind.plural === "pods"
          ? ""
          : faults.denial(object)
    if (denial !== "") throw new ApiError(403, "Forbidden", denial)
  }

  const save = (
    target: Target,
    object: JsonObject,
    before: JsonObject | undefined,
    managers: ReturnType<typeof store.managersOf>
  ) => {
    validate(target, object, before)
    if (isTrue(target.query, "dryRun") || target.query.get("dryRun") === "All") return object
    const status = before === undefined ? undefined : before["status"]
    return store.put(
      target.kind.plural,
      copy({
        ...object,
        ...(target.kind.plural === "pods" && before === undefined ? { status: { phase: "Pending" } } : { status })
      }),
      managers
    )
  }

  const managerOf = ({ query }: Target, operation: string) =>
    [query.get("fieldManager") ?? "unknown", operation].join("/")

  const create = (target: Target, body: JsonObject) => {
    const name = nameOf(body)
    const { kind, namespace } = target
    if (store.get(kind.plural, namespace, name) !== undefined)
      throw new ApiError(409, "AlreadyExists", `${kind.plural} "${name}" already exists`)
    const defaults = kind.plural === "pods" ? { spec: { restartPolicy: "Always", ...objectAt(body, "spec") } } : {}
    const object = copy({
      ...body,
      ...defaults,
      metadata: { ...objectAt(body, "metadata"), ...(kind.isNamespaced ? { namespace } : {}) }
    })
    return save({ ...target, name }, object, undefined, trackUpdate({}, object, new Map(), managerOf(target, "Update")))
  }

  const patchScale = (target: Target, body: JsonObject) => {
    const found = requireObject(target)
    const replicas = at(body, "spec", "replicas")
    if (!Number.isInteger(replicas)) throw new ApiError(422, "Invalid", "spec.replicas: Invalid value")
    const next = copy({ ...found, spec: { ...objectAt(found, "spec"), replicas } })
    const { kind, name, namespace } = target
    const managers = trackUpdate(
      found,
      next,
      store.managersOf(kind.plural, namespace, name),
      `${managerOf(target, "Update")}/scale`
    )
    store.put(kind.plural, next, managers)
    return { kind: "Scale", apiVersion: "autoscaling/v1", metadata: { name, namespace }, spec: { replicas } }
  }

  const patch = (target: Target, body: JsonObject, contentType: string, token: string) => {
    const { kind, name, namespace, query, subresource } = target
    if (subresource === "scale") return patchScale(target, body)
    const before = store.get(kind.plural, namespace, name)
    const managers = store.managersOf(kind.plural, namespace, name)
    if (contentType.startsWith("application/apply-patch+yaml")) {
      const manager = query.get("fieldManager")
      if (manager === null)
        throw new ApiError(
          422,
          "Invalid",
          "PatchOptions.meta.k8s.io is invalid: fieldManager: Required value: is required for apply patch"
        )
      if (before === undefined) requireRight(token, target, "create")
      if (objectsAt(body, "metadata", "managedFields").length > 0)
        throw new ApiError(400, "BadRequest", "metadata.managedFields must be nil")
      const applied = applyFields(before ?? {}, body, managers, { manager, force: isTrue(query, "force") })
      const object = copy({
        ...applied.object,
        apiVersion: body["apiVersion"],
        kind: body["kind"],
        metadata: { ...objectAt(applied.object, "metadata"), name, ...(kind.isNamespaced ? { namespace } : {}) }
      })
      return save(target, object, before, applied.managers)
    }
    const found = requireObject(target)
    const isStrategic = contentType.startsWith("application/strategic-merge-patch+json")
    if (!isStrategic && !contentType.startsWith("application/merge-patch+json"))
      throw new ApiError(
        415,
        "UnsupportedMediaType",
        `the body of the request was in an unknown format: ${contentType}`
      )
    const patched = isStrategic ? merge(found, body) : mergePatch(found, body)
    if (!isObject(patched)) throw new ApiError(400, "BadRequest", "the patch removes the object")
    return save(target, copy(patched), found, trackUpdate(found, patched, managers, managerOf(target, "Update")))
  }

  const replace = (target: Target, body: JsonObject) => {
    const found = requireObject(target)
    const { kind, name, namespace } = target
    const managers = trackUpdate(
      found,
      body,
      store.managersOf(kind.plural, namespace, name),
      managerOf(target, "Update")
    )
    return save(
      target,
      copy({ ...body, metadata: { ...objectAt(found, "metadata"), ...objectAt(body, "metadata") } }),
      found,
      managers
    )
  }

  const remove = (target: Target, body: JsonObject) => {
    const found = requireObject(target)
    const { kind, name, namespace, query } = target
    for (const field of ["uid", "resourceVersion"]) {
      const wanted = textAt(body, "preconditions", field)
      if (wanted !== "" && wanted !== textAt(found, "metadata", field))
        throw new ApiError(
          409,
          "Conflict",
          `Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${textAt(found, "metadata", field)}`
        )
    }
    const propagation = body["propagationPolicy"] ?? query.get("propagationPolicy") ?? "Background"
    if (kind.plural === "statefulsets" && propagation === "Orphan")
      for (const pod of store.list("pods", namespace))
        if (objectsAt(pod, "metadata", "ownerReferences").some((owner) => owner["name"] === name))
          store.put("pods", copy({ ...pod, metadata: { ...objectAt(pod, "metadata"), ownerReferences: [] } }))
    if (textAt(found, "metadata", "deletionTimestamp") !== "") return found
    const grace = body["gracePeriodSeconds"] ?? at(found, "spec", "terminationGracePeriodSeconds") ?? 30
    const isKept = kind.plural === "pods" || textsAt(found, "metadata", "finalizers").length > 0
    if (!isKept) {
      store.remove(kind.plural, namespace, name)
      return { ...toStatus(200, "", ""), status: "Success" }
    }
    return store.put(
      kind.plural,
      copy({
        ...found,
        metadata: {
          ...objectAt(found, "metadata"),
          deletionTimestamp: now(),
          ...(kind.plural === "pods" ? { deletionGracePeriodSeconds: grace } : {})
        }
      })
    )
  }

  const isSelected = ({ kind, namespace, query }: Target, object: JsonObject) =>
    (namespace === "" || !kind.isNamespaced || textAt(object, "metadata", "namespace") === namespace) &&
    matchesSelector(query.get("labelSelector") ?? "", object) &&
    matchesFields(query.get("fieldSelector") ?? "", object)

  const list = (target: Target) => {
    const { kind, namespace, query } = target
    const all = store
      .list(kind.plural, namespace === "" ? undefined : namespace)
      .filter((object) => isSelected(target, object))
    const limit = Number(query.get("limit") ?? 0)
    const from = Number(query.get("continue") ?? 0)
    const page = limit === 0 ? all : all.slice(from, from + limit)
    const next = limit !== 0 && from + limit < all.length ? { continue: String(from + limit) } : {}
    return {
      kind: `${kind.kind}List`,
      apiVersion: apiVersionOf(kind),
      metadata: { resourceVersion: String(store.currentVersion()), ...next },
      items: page
    }
  }

  const watch = (target: Target, response: ServerResponse) => {
    const { kind, query } = target
    response.writeHead(200, { "content-type": "application/json" })
    response.flushHeaders()
    const write = (type: string, object: object) => response.write(`${JSON.stringify({ type, object })}\n`)
    const from = Number(query.get("resourceVersion") ?? 0)
    if (from !== 0 && store.isExpired(from)) {
      write("ERROR", toStatus(410, "Expired", `too old resource version: ${from} (${store.currentVersion()})`))
      response.end()
      return
    }
    const send = (change: StoredChange) => {
      if (change.resource === kind.plural && isSelected(target, change.object)) write(change.type, change.object)
    }
    if (from === 0)
      for (const object of store.list(kind.plural, undefined)) if (isSelected(target, object)) write("ADDED", object)
    for (const change of from === 0 ? [] : store.changesAfter(from)) send(change)
    const bookmark = () =>
      write("BOOKMARK", {
        kind: kind.kind,
        apiVersion: apiVersionOf(kind),
        metadata: { resourceVersion: String(store.currentVersion()) }
      })
    const stop = store.onChange(send)
    watches.add(response)
    const bookmarks = isTrue(query, "allowWatchBookmarks") ? setInterval(bookmark, bookmarkMs) : undefined
    const timeout = setTimeout(() => response.end(), Number(query.get("timeoutSeconds") ?? 1800) * 1000).unref()
    response.on("close", () => {
      stop()
      watches.delete(response)
      clearInterval(bookmarks)
      clearTimeout(timeout)
    })
  }

  const sendLog = (target: Target, response: ServerResponse) => {
    const pod = requireObject(target)
    const container = target.query.get("container") ?? textAt(objectsAt(pod, "spec", "containers")[0], "name")
    const isPrevious = isTrue(target.query, "previous")
    const log = kubelet.readLog(target.namespace, target.name, isPrevious)
    if (!objectsAt(pod, "spec", "containers").some(({ name }) => name === container))
      throw new ApiError(400, "BadRequest", `container ${container} is not valid for pod ${target.name}`)
    if (log === undefined)
      throw new ApiError(
        400,
        "BadRequest",
        isPrevious
          ? `previous terminated container "${container}" in pod "${target.name}" not found`
          : `container "${container}" in pod "${target.name}" is waiting to start: ContainerCreating`
      )
    const limit = Number(target.query.get("limitBytes") ?? 0)
    const tail = Number(target.query.get("tailLines") ?? 0)
    const lines =
      tail === 0
        ? log
        : log
            .split("\n")
            .slice(-tail - 1)
            .join("\n")
    response.writeHead(200, { "content-type": "text/plain" }).end(limit === 0 ? lines : lines.slice(0, limit))
  }

  const sendJson = (response: ServerResponse, status: number, body: object) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))

  const readMetrics = (namespace: string, pod: JsonObject) => {
    const usage = faults.hasMetrics ? kubelet.readUsage(namespace, nameOf(pod)) : undefined
    if (usage === undefined) return undefined
    const { cpuNanos, memoryBytes } = usage
    return {
      kind: "PodMetrics",
      apiVersion: "metrics.k8s.io/v1beta1",
      metadata: { name: nameOf(pod), namespace, labels: objectAt(pod, "metadata", "labels") },
      timestamp: now(),
      window: "10s",
      containers: [{ name: "runtime", usage: { cpu: `${cpuNanos}n`, memory: `${Math.round(memoryBytes / 1024)}Ki` } }]
    }
  }

  const sendMetrics = (url: URL, token: string, response: ServerResponse) => {
    const [, namespace = "", name = ""] = /namespaces\/([^/]+)\/pods(?:\/([^/]+))?$/.exec(url.pathname) ?? []
    const pods = resources.find(({ plural }) => plural === "pods")
    if (pods === undefined) return
    const kind = { ...pods, group: "metrics.k8s.io" }
    const target = { kind, namespace, name, subresource: "", query: url.searchParams }
    requireRight(token, target, name === "" ? "list" : "get")
    const found = store
      .list("pods", namespace)
      .filter((pod) => isSelected({ ...target, kind: pods }, pod) && (name === "" || nameOf(pod) === name))
      .flatMap((pod) => readMetrics(namespace, pod) ?? [])
    const [first] = found
    if (name === "") sendJson(response, 200, { kind: "PodMetricsList", metadata: {}, items: found })
    else if (first === undefined)
      throw new ApiError(404, "NotFound", `podmetrics.metrics.k8s.io "${namespace}/${name}" not found`)
    else sendJson(response, 200, first)
  }

  const discover = (path: string): object | undefined => {
    if (path === "/version") return { major: "1", minor: "32", gitVersion: "v1.32.0" }
    if (path === "/api") return { kind: "APIVersions", versions: ["v1"] }
    if (path === "/apis") return describeGroups()
    const groupVersion = /^\/api\/(v1)$/.exec(path)?.[1] ?? /^\/apis\/([^/]+\/v1)$/.exec(path)?.[1]
    return groupVersion !== undefined && resources.some((kind) => apiVersionOf(kind) === groupVersion)
      ? describeResources(groupVersion)
      : undefined
  }

  const verbs: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://localhost")
    const method = request.method ?? "GET"
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? ""
    const fault = faults.intercept(method, url.pathname)
    if (fault === "hang") return
    if (fault === "reset") {
      request.socket.destroy()
      return
    }
    if (fault !== undefined)
      throw new ApiError(fault.status, "InternalError", fault.message, fault.status === 429 ? 1 : undefined)
    if (!rights.has(token)) throw new ApiError(401, "Unauthorized", "Unauthorized")
    const discovered = method === "GET" ? discover(url.pathname) : undefined
    if (discovered !== undefined) {
      sendJson(response, 200, discovered)
      return
    }
    if (url.pathname.startsWith("/apis/metrics.k8s.io/")) {
      sendMetrics(url, token, response)
      return
    }
    const target = parseTarget(url)
    if (target === undefined) throw new ApiError(404, "NotFound", "the server could not find the requested resource")
    const isWatch = isTrue(target.query, "watch")
    requireRight(
      token,
      target,
      method === "GET" ? (isWatch ? "watch" : target.name === "" ? "list" : "get") : (verbs[method] ?? method)
    )
    const body = await readBody(request)
    if (method === "GET") {
      if (isWatch) watch(target, response)
      else if (target.subresource === "log") sendLog(target, response)
      else sendJson(response, 200, target.name === "" ? list(target) : requireObject(target))
      return
    }
    if (method === "POST") sendJson(response, 201, create(target, body))
    else if (method === "PATCH")
      sendJson(response, 200, patch(target, body, request.headers["content-type"] ?? "", token))
    else if (method === "PUT") sendJson(response, 200, replace(target, body))
    else if (method === "DELETE") sendJson(response, 200, remove(target, body))
    else throw new ApiError(405, "MethodNotAllowed", `${method} is not supported`)
  }

  const certificate = makeSelfSignedCertificate()
  const server = createServer(certificate, (request, response) => {
    answer(request, response).catch((cause: unknown) => {
      const error =
        cause instanceof ApiError
          ? cause
          : cause instanceof ApplyConflict
            ? new ApiError(409, "Conflict", cause.message)
            : new ApiError(500, "InternalError", String(cause))
      if (response.headersSent) return void response.destroy()
      response
        .writeHead(error.status, {
          "content-type": "application/json",
          ...(error.retryAfter === undefined ? {} : { "retry-after": String(error.retryAfter) })
        })
        .end(JSON.stringify(toStatus(error.status, error.reason, error.message)))
    })
  })

  return {
    server,
    /** Certificate of the authority that clients trust. */
    certificate: certificate.cert,
    store,
    kubelet,
    faults,
    podQuotas,
    usedVerbs,
    countWatches: () => watches.size,
    /** Ends the connections of all watches. */
    endWatches: () => {
      for (const response of watches) response.end()
    },
    /** Creates a namespace that enforces the Pod Security Standard `restricted`. Idempotent. */
    createNamespace: (name: string) => {
      if (store.get("namespaces", "", name) !== undefined) return
      store.put("namespaces", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name, labels: { "pod-security.kubernetes.io/enforce": "restricted" } }
      })
    },
    close: async () => {
      stopControllers()
      await kubelet.close()
      server.closeAllConnections()
      server.close()
    }
  }
}
