import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const shared = { setupFiles: ["test/support/setup.ts"] }

/**
 * Files by decreasing duration, those of containers and network namespaces first: they end before the tests of pages begin,
 * since Chromium fails requests when an interface appears.
 */
const longest = [
  "e2e/DockerInstances",
  "e2e/SeededChaos",
  "e2e/Chaos",
  "e2e/Supervision",
  "e2e/SharedBerth",
  "e2e/Streams",
  "e2e/SplitPrograms",
  "e2e/MainJob",
  "e2e/Channels",
  "instance-drivers/InstanceDriverIsolation",
  "instance-drivers/InstanceDriver",
  "integration/InstanceReconciler",
  "instance-drivers/InstanceDriverUpdate",
  "instance-drivers/InstanceDriverLogsAndStats",
  "instance-drivers/DockerFaults",
  "instance-drivers/DockerIsolation",
  "ports/JobQueueFaults",
  "contract/ErrorResponses",
  "instance-drivers/KubernetesFaults",
  "process/ProcessInstanceDriver",
  "ports/JobQueue",
  "contract/AgentVerification",
  "contract/ApiKeyMatrix",
  "contract/Outages",
  "integration/EmbeddedPostgres",
  "contract/OwnershipMatrix",
  "runtime/BerthAgentRuntime",
  "contract/OriginChecks",
  "process/ProcessHardening",
  "contract/TelegramChannel",
  "integration/OrphanCleanup",
  "integration/AiLayerFailover",
  "integration/ChainNode",
  "postgres/IdleTimeoutSocket"
]

const rank = ({ moduleId }: TestSpecification) => {
  const index = longest.findIndex((name) => moduleId.endsWith(`${name}.test.ts`))
  return index === -1 ? longest.length : index
}

/** A long file that starts late would keep one worker busy after the others have ended. */
class LongestFirst extends BaseSequencer {
  override async sort(files: ReadonlyArray<TestSpecification>) {
    return (await super.sort([...files])).toSorted((a, b) => rank(a) - rank(b))
  }
}

/** Above the sum of the timeouts inside a test, whose messages are more specific. */
const minutes = (count: number) => ({ testTimeout: count * 60_000, hookTimeout: count * 60_000 })

export default defineConfig({
  test: {
    globalSetup: ["test/support/globalSetup.ts"],
    // The files of a worker share its modules: importing the server again takes two seconds of processor time.
    // Fake timers of one file would stop the loops of the shared test application.
    isolate: false,
    // For two cores, whose time the waits of some files leave to others. Idle workers stay: ending one can end a file that
    // was just given to it. For one worker: --no-file-parallelism.
    minWorkers: 4,
    maxWorkers: 4,
    // Collecting garbage in larger steps costs less. Every supported Node.js accepts these flags.
    poolOptions: {
      forks: {
        execArgv: [
          "--max-semi-space-size=128",
          "--min-semi-space-size=64",
          "--initial-old-space-size=512",
          "--single-threaded-gc"
        ]
      },
      // Fewer, which end later: without their programs the other files leave a core idle.
      threads: { minThreads: 3, maxThreads: 3 }
    },
    sequence: { sequencer: LongestFirst },
    teardownTimeout: 60_000,
    projects: [
      {
        test: {
          ...shared,
          ...minutes(2),
          name: "code",
          pool: "forks",
          include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
          exclude: ["**/node_modules/**", "test/e2e/**", "test/browser/**"]
        }
      },
      {
        test: {
          ...shared,
          ...minutes(4),
          name: "programs",
          // Another pool than that of `code` runs at the same time. These tests start processes and wait for them.
          pool: "threads",
          setupFiles: [...shared.setupFiles, "test/e2e/showRecentLogs.ts"],
          include: ["test/e2e/**/*.test.ts"]
        }
      },
      {
        test: {
          ...shared,
          ...minutes(2),
          name: "browser",
          // The pool of `programs` runs its projects one after the other.
          pool: "threads",
          include: ["test/browser/**/*.test.ts"]
        }
      }
    ]
  }
})
