// A lock file that a killed holder does not block. Needs Node only.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

/** Start time of a process: process ids are reused. */
const readStartTime = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19] ?? ""
  } catch {
    return ""
  }
}

const isAlive = (pid) => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return cause.code === "EPERM"
  }
}

const holder = (lock) => {
  try {
    const [pid, startTime] = readFileSync(lock, "utf8").trim().split(" ")
    return { pid: Number(pid), startTime: startTime ?? "" }
  } catch {
    return undefined
  }
}

const isStale = ({ pid, startTime }) => !isAlive(pid) || (startTime !== "" && readStartTime(pid) !== startTime)

/** Written under another name and linked, so that a lock file always contains its holder. */
const take = (lock) => {
  const draft = `${lock}.${process.pid}`
  writeFileSync(draft, `${process.pid} ${readStartTime(process.pid)}\n`)
  try {
    linkSync(draft, lock)
    return true
  } catch (cause) {
    if (cause.code !== "EEXIST") throw cause
    return false
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Of concurrent processes that find a stale lock, the one that renames it removes it. */
const remove = (lock) => {
  const aside = `${lock}.stale.${process.pid}`
  try {
    renameSync(lock, aside)
  } catch (cause) {
    if (cause.code !== "ENOENT") throw cause
    return
  }
  const moved = holder(aside)
  if (moved !== undefined && !isStale(moved)) linkSync(aside, lock)
  rmSync(aside, { force: true })
}

/** Runs `work` while holding the lock file. `onWait` is called once with the process id of the holder. */
export const withLock = async (lock, onWait, work) => {
  mkdirSync(dirname(lock), { recursive: true })
  let isWaiting = false
  while (!take(lock)) {
    const current = holder(lock)
    if (current === undefined) continue
    if (isStale(current)) {
      remove(lock)
      continue
    }
    if (!isWaiting) onWait(current.pid)
    isWaiting = true
    await sleep(100)
  }
  const release = () => rmSync(lock, { force: true })
  process.once("exit", release)
  try {
    return await work()
  } finally {
    process.removeListener("exit", release)
    release()
  }
}
