import { defineConfig } from "vitest/config"

const shared = { setupFiles: ["test/support/exitWithRunner.ts"], pool: "forks" as const }

/** Longer than all that a test waits for together: who waits says what did not come, and a limit of the whole does not. */
const minutes = (count: number) => ({ testTimeout: count * 60_000, hookTimeout: count * 60_000 })

export default defineConfig({
  test: {
    globalSetup: ["test/support/globalSetup.ts"],
    minWorkers: 1,
    // One beyond the two cores that the run is made for: much of it waits for programs to start.
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
          // Behind everything else: each test of these is many processes, which need the cores for themselves.
          sequence: { groupOrder: 1 }
        }
      }
    ]
  }
})
