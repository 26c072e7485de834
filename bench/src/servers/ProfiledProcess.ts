// Imported by a measured server: SIGUSR2 starts a processor profile, the next one writes it to the directory of the query.
import { renameSync, writeFileSync } from "node:fs"
import { Session } from "node:inspector"
import { join } from "node:path"

const path = join(new URL(import.meta.url).searchParams.get("directory") ?? ".", `${process.pid}.cpuprofile`)
const session = new Session()
let isRunning = false

const start = () => {
  session.connect()
  session.post("Profiler.enable")
  session.post("Profiler.setSamplingInterval", { interval: 500 })
  session.post("Profiler.start")
}

const stop = () => {
  session.post("Profiler.stop", (error, result) => {
    writeFileSync(`${path}.new`, JSON.stringify(error === null ? result.profile : {}))
    renameSync(`${path}.new`, path)
  })
  session.disconnect()
}

process.on("SIGUSR2", () => {
  isRunning = !isRunning
  if (isRunning) start()
  else stop()
})
