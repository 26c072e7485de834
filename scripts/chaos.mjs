// `npm run test:chaos`: kills programs, instances and the Docker Engine at steps of seeded calls, for as many seeds as wished.
//   --seeds <n>    how many; default 20
//   --first <n>    the first seed; default 1. A failing seed is printed, and replayed by --first <seed> --seeds 1
//   --driver <d>   process (default), docker, or both with a comma
//   --jobs <n>     kills workers and stores under so many jobs of all kinds, instead of instances
//   --cycles <n>   sleeps and wakes of one instance before the seeds; default 100
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const root = fileURLToPath(new URL("..", import.meta.url))
const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "20" },
    first: { type: "string", default: "1" },
    driver: { type: "string", default: "process" },
    cycles: { type: "string", default: "100" },
    jobs: { type: "string", default: "0" }
  }
})
const run = (...args) =>
  spawnSync(process.execPath, args, {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      CHAOS_SEEDS: values.seeds,
      CHAOS_FIRST_SEED: values.first,
      CHAOS_DRIVER: values.driver,
      CHAOS_CYCLES: values.cycles,
      CHAOS_JOBS: values.jobs
    }
  }).status ?? 1

process.exitCode =
  run(join(root, "scripts", "run.mjs"), "prepare") ||
  run(join(root, "node_modules", "vitest", "vitest.mjs"), "run", "test/e2e/SeededChaos.test.ts")
