import { type ChildProcess, spawn } from "node:child_process"
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import { createServer as createTcpServer, connect, type Server } from "node:net"
import { dirname, join } from "node:path"
// The kubelet of a real cluster restarts and ends containers on timers.
import { setInterval, setTimeout } from "node:timers"
import { at, copy, type JsonObject, numberAt, objectAt, objectsAt, textAt, textsAt } from "./Json.ts"
import { nameOf, namespaceOf, now, type ObjectStore } from "./ObjectStore.ts"

/** Maximum size of each of the two log files of a container. */
const containerLogBytes = 2 * 1024 * 1024
const restartBackoffMs = 5_000
const memorySampleMs = 30

interface RunningContainer {
  readonly child: ChildProcess
  readonly log: string
  /** Seconds since the start of this process. */
  readonly spawnedAt: number
  isOutOfMemory: boolean
}

interface PodWorker {
  readonly uid: string
  address: string
  proxy: Server | undefined
  container: RunningContainer | undefined
  previousLog: string
  restarts: number
  isEnding: boolean
}

interface KubeletOptions {
  readonly store: ObjectStore
  /** The program of each available image. */
  readonly programOf: (image: string) => string | undefined
  /** Volumes and logs of all pods. */
  readonly directory: string
  readonly nextAddress: () => string
}

const mebibytes = (quantity: string): number => Number(/^(\d+)Mi$/.exec(quantity)?.[1] ?? Number.POSITIVE_INFINITY)

const readAnonymousBytes = (pid: number): number => {
  try {
    return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

const readCpuTicks = (pid: number): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
    return Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
  } catch {
    return 0
  }
}

const findFreePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createTcpServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** A node that runs containers as child processes, with real volumes, logs and limits. */
export const makeKubelet = ({ directory, nextAddress, programOf, store }: KubeletOptions) => {
  const workers = new Map<string, PodWorker>()
  const keyOf = (pod: JsonObject) => `${namespaceOf(pod)}/${nameOf(pod)}`
  const volumeOf = (namespace: string, claim: string) => join(directory, "volumes", namespace, claim)

  const setStatus = (pod: JsonObject, worker: PodWorker, status: object) =>
    store.change("pods", namespaceOf(pod), nameOf(pod), (found) =>
      textAt(found, "metadata", "uid") === worker.uid
        ? { ...found, status: { ...objectAt(found, "status"), ...status } }
        : found
    )

  const setContainer = (pod: JsonObject, worker: PodWorker, phase: string, state: object, more: object = {}) => {
    const [container] = objectsAt(pod, "spec", "containers")
    const [before] = objectsAt(store.get("pods", namespaceOf(pod), nameOf(pod)), "status", "containerStatuses")
    const isReady = "running" in state
    setStatus(pod, worker, {
      phase,
      podIP: worker.address,
      conditions: [
        { type: "PodScheduled", status: "True" },
        { type: "Ready", status: isReady ? "True" : "False" }
      ],
      containerStatuses: [
        {
          ...before,
          name: textAt(container, "name"),
          image: textAt(container, "image"),
          imageID: textAt(container, "image"),
          ready: isReady,
          restartCount: worker.restarts,
          state,
          ...more
        }
      ]
    })
  }

  /** Paths of volumes in the container, and on this machine. */
  const listMounts = (pod: JsonObject) => {
    const claims = new Map(
      objectsAt(pod, "spec", "volumes").map((volume) => [
        textAt(volume, "name"),
        textAt(volume, "persistentVolumeClaim", "claimName")
      ])
    )
    const [container] = objectsAt(pod, "spec", "containers")
    return objectsAt(container, "volumeMounts").flatMap((mount) => {
      const claim = claims.get(textAt(mount, "name")) ?? ""
      if (claim === "") return []
      const place = join(volumeOf(namespaceOf(pod), claim), textAt(mount, "subPath"))
      mkdirSync(place, { recursive: true })
      return [[textAt(mount, "mountPath"), place] as const]
    })
  }

  const readEnvironment = (pod: JsonObject, container: JsonObject): Readonly<Record<string, string>> | string => {
    const variables: Record<string, string> = {}
    for (const variable of objectsAt(container, "env")) {
      const reference = objectAt(variable, "valueFrom", "secretKeyRef")
      const secretName = textAt(reference, "name")
      if (secretName === "") {
        variables[textAt(variable, "name")] = textAt(variable, "value")
        continue
      }
      const secret = store.get("secrets", namespaceOf(pod), secretName)
      const encoded = at(secret, "data", textAt(reference, "key"))
      if (typeof encoded !== "string") return `secret "${secretName}" not found`
      variables[textAt(variable, "name")] = Buffer.from(encoded, "base64").toString()
    }
    return variables
  }

  const append = (file: string, chunk: Buffer) => {
    if (existsSync(file) && statSync(file).size > containerLogBytes) renameSync(file, `${file}.1`)
    appendFileSync(file, chunk)
  }

  const openAddress = (worker: PodWorker, podPort: number, port: number) => {
    worker.proxy?.close()
    worker.proxy = createTcpServer((client) => {
      const target = connect(port, "127.0.0.1")
      client.on("error", () => target.destroy()).on("close", () => target.destroy())
      target.on("error", () => client.destroy()).on("close", () => client.destroy())
      client.pipe(target).pipe(client)
    })
    const { proxy } = worker
    return new Promise<void>((resolve) => {
      proxy.listen(podPort, worker.address, () => resolve())
    })
  }

  const release = (worker: PodWorker) => {
    worker.proxy?.close()
    worker.proxy = undefined
  }

  const run = async (pod: JsonObject, worker: PodWorker): Promise<void> => {
    const [container = {}] = objectsAt(pod, "spec", "containers")
    const program = programOf(textAt(container, "image"))
    if (program === undefined) {
      const message = `Back-off pulling image "${textAt(container, "image")}"`
      setContainer(pod, worker, "Pending", { waiting: { reason: "ImagePullBackOff", message } })
      return
    }
    const environment = readEnvironment(pod, container)
    if (typeof environment === "string") {
      setContainer(pod, worker, "Pending", { waiting: { reason: "CreateContainerConfigError", message: environment } })
      return
    }
    const mounts = listMounts(pod)
    const place = (text: string) =>
      mounts
        .reduce((result, [path, real]) => result.replaceAll(path, real), text)
        .replace(/(^|=)\/runtime\/(runtime\.mjs)?/, (_, before: string, entry: string | undefined) =>
          entry === undefined ? `${before}${dirname(program)}/` : `${before}${program}`
        )
    /** The image uses this machine's Node.js, which may have the former name of the permission model. */
    const adapt = (text: string) =>
      text === "--permission" && !process.allowedNodeEnvironmentFlags.has(text) ? "--experimental-permission" : text
    const [{ containerPort: podPort } = { containerPort: undefined }] = objectsAt(container, "ports")
    const port = await findFreePort()
    if (typeof podPort === "number") await openAddress(worker, podPort, port)
    const variables = Object.entries(environment).map(
      ([name, value]) => [name, value === String(podPort) ? String(port) : place(value)] as const
    )
    const [command = "", ...args] = [...textsAt(container, "command"), ...textsAt(container, "args")]
      .map(place)
      .map(adapt)
    // It was deleted in the meantime.
    if (worker.isEnding) return finish(pod, worker)
    const child = spawn(command === "node" ? process.execPath : command, args, {
      env: {
        ...Object.fromEntries(variables),
        PATH: process.env["PATH"] ?? "",
        NODE_VERSION: process.versions.node,
        HOSTNAME: nameOf(pod),
        KUBERNETES_SERVICE_HOST: "10.96.0.1",
        KUBERNETES_SERVICE_PORT: "443"
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const log = join(directory, "logs", `${worker.uid}-${worker.restarts}.log`)
    mkdirSync(join(directory, "logs"), { recursive: true })
    appendFileSync(log, "")
    const running: RunningContainer = { child, log, spawnedAt: process.uptime(), isOutOfMemory: false }
    worker.container = running
    child.stdout.on("data", (chunk: Buffer) => append(log, chunk))
    child.stderr.on("data", (chunk: Buffer) => append(log, chunk))
    const limit = mebibytes(textAt(container, "resources", "limits", "memory")) * 1024 * 1024
    const watchdog = setInterval(() => {
      if (readAnonymousBytes(child.pid ?? 0) <= limit) return
      running.isOutOfMemory = true
      child.kill("SIGKILL")
    }, memorySampleMs)
    child.once("close", (code, signal) => {
      clearInterval(watchdog)
      onExit(pod, worker, running, signal === null ? (code ?? 1) : 128 + signalNumber(signal))
    })
    const startedAt = now()
    setContainer(
      pod,
      worker,
      "Running",
      { running: { startedAt } },
      { containerID: `fake://${worker.uid}-${worker.restarts}` }
    )
  }

  const signalNumber = (signal: NodeJS.Signals): number => (signal === "SIGKILL" ? 9 : signal === "SIGTERM" ? 15 : 1)

  const onExit = (pod: JsonObject, worker: PodWorker, container: RunningContainer, exitCode: number) => {
    worker.container = undefined
    worker.previousLog = container.log
    const terminated = {
      exitCode,
      reason: container.isOutOfMemory ? "OOMKilled" : exitCode === 0 ? "Completed" : "Error",
      finishedAt: now(),
      containerID: `fake://${worker.uid}-${worker.restarts}`
    }
    if (textAt(pod, "spec", "restartPolicy") === "Never") {
      setContainer(pod, worker, exitCode === 0 ? "Succeeded" : "Failed", { terminated })
    } else {
      setContainer(pod, worker, "Running", { terminated })
      if (!worker.isEnding) {
        const waiting = { reason: "CrashLoopBackOff", message: "back-off restarting failed container" }
        setContainer(pod, worker, "Running", { waiting }, { lastState: { terminated } })
        setTimeout(() => {
          if (worker.isEnding) return
          worker.restarts += 1
          void run(pod, worker)
        }, restartBackoffMs).unref()
      }
    }
    if (worker.isEnding) finish(pod, worker)
  }

  const finish = (pod: JsonObject, worker: PodWorker) => {
    release(worker)
    const found = store.get("pods", namespaceOf(pod), nameOf(pod))
    if (textAt(found, "metadata", "uid") !== worker.uid) return
    workers.delete(keyOf(pod))
    store.remove("pods", namespaceOf(pod), nameOf(pod))
  }

  /** Begins to run a pod that has a node. */
  const start = (pod: JsonObject): void => {
    const worker: PodWorker = {
      uid: textAt(pod, "metadata", "uid"),
      address: nextAddress(),
      proxy: undefined,
      container: undefined,
      previousLog: "",
      restarts: 0,
      isEnding: false
    }
    workers.set(keyOf(pod), worker)
    setContainer(pod, worker, "Pending", { waiting: { reason: "ContainerCreating" } })
    void run(copy(pod), worker)
  }

  /** Ends a pod: SIGTERM, then SIGKILL after its grace period. */
  const end = (pod: JsonObject): void => {
    const worker = workers.get(keyOf(pod))
    if (worker === undefined) {
      store.remove("pods", namespaceOf(pod), nameOf(pod))
      return
    }
    if (worker.isEnding) return
    worker.isEnding = true
    const { container } = worker
    if (container === undefined) {
      finish(pod, worker)
      return
    }
    container.child.kill("SIGTERM")
    const grace = numberAt(pod, "metadata", "deletionGracePeriodSeconds") ?? 30
    setTimeout(() => container.child.kill("SIGKILL"), grace * 1000).unref()
  }

  return {
    start,
    end,
    volumeOf,
    isRunning: (pod: JsonObject) => workers.has(keyOf(pod)),
    removeVolume: (namespace: string, claim: string) =>
      rmSync(volumeOf(namespace, claim), { recursive: true, force: true }),
    pidOf: (namespace: string, name: string) => workers.get(`${namespace}/${name}`)?.container?.child.pid,
    /** Undefined if a real kubelet has no log. */
    readLog: (namespace: string, name: string, isPrevious: boolean): string | undefined => {
      const worker = workers.get(`${namespace}/${name}`)
      const file = isPrevious ? worker?.previousLog : (worker?.container?.log ?? worker?.previousLog)
      return file === undefined || file === "" ? undefined : readFileSync(file, "utf8")
    },
    logFilesOf: (namespace: string, name: string): ReadonlyArray<string> => {
      const log = workers.get(`${namespace}/${name}`)?.container?.log
      return log === undefined ? [] : [log, `${log}.1`]
    },
    readUsage: (namespace: string, name: string) => {
      const worker = workers.get(`${namespace}/${name}`)
      const container = worker?.container
      const pid = container?.child.pid
      if (container === undefined || pid === undefined) return undefined
      const seconds = Math.max(0.1, process.uptime() - container.spawnedAt)
      return {
        memoryBytes: readAnonymousBytes(pid),
        cpuNanos: Math.max(1, Math.round((readCpuTicks(pid) / 100 / seconds) * 1e9))
      }
    },
    /** Kills every container, as a node failure does. */
    close: async () => {
      const ended = [...workers.values()].map((worker) => {
        worker.isEnding = true
        release(worker)
        const child = worker.container?.child
        if (child === undefined) return Promise.resolve()
        return new Promise<void>((resolve) => {
          child.once("close", () => resolve())
          child.kill("SIGKILL")
        })
      })
      await Promise.all(ended)
    }
  }
}
export type Kubelet = ReturnType<typeof makeKubelet>
