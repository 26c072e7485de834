import { describe, expect, inject, it } from "vitest"

/** Something outside the repository that a test needs. */
export interface Tool {
  readonly name: string
  readonly present: boolean
}

export const redisServer: Tool = { name: "redis-server", present: inject("redisUrl") !== "" }

/**
 * A block of tests that needs a tool. Where the tool is missing the block is skipped and its title says why; in CI, where
 * everything has to run, it fails instead.
 */
export const describeWith = (tool: Tool, title: string, tests: () => void): void => {
  if (tool.present) {
    describe(title, tests)
  } else if (process.env["CI"] === "true") {
    describe(title, () => {
      it(`needs ${tool.name}`, () => expect.fail(`${tool.name} is not on the PATH, and in CI nothing is skipped`))
    })
  } else {
    describe.skip(`${title} (skipped: ${tool.name} is not on the PATH)`, tests)
  }
}
