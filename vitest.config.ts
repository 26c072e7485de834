import { defineConfig } from "vitest/config"

const shared = { setupFiles: ["test/support/setup.ts"], pool: "forks" as const }

/** Above the sum of the timeouts inside a test, whose messages are more specific. */
const minutes = (count: number) => ({ testTimeout: count * 60_000, hookTimeout: count * 60_000 })

export default defineConfig({
  test: {
    globalSetup: ["test/support/globalSetup.ts"],
    // The files of a worker share its modules: importing the server again takes two seconds of processor time.
    isolate: false,
    // One more than the two cores of the target machine: many tests wait for processes to start. Idle workers stay:
    // ending one can end a file that was just given to it. For one worker: --no-file-parallelism.
    minWorkers: 3,
    maxWorkers: 3,
    teardownTimeout: 60_000,
    projects: [
      {
        test: {
          ...shared,
          ...minutes(2),
          name: "code",
          include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
          exclude: ["**/node_modules/**", "test/e2e/**"]
        }
      },
      {
        test: {
          ...shared,
          ...minutes(4),
          name: "programs",
          setupFiles: [...shared.setupFiles, "test/e2e/showRecentLogs.ts"],
          include: ["test/e2e/**/*.test.ts"],
          // Runs last: each of these tests starts many processes.
          sequence: { groupOrder: 1 }
        }
      }
    ]
  }
})
