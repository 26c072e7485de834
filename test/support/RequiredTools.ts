import { assert, describe, inject, it } from "vitest"

/** Something outside the repository that a test needs. */
export interface RequiredTool {
  readonly name: string
  readonly present: boolean
  /** Why it is not there, where that is not "is not on the PATH". */
  readonly missingReason?: string
}

export const redisServer: RequiredTool = { name: "redis-server", present: inject("redisUrl") !== "" }

/**
 * A block of tests that needs a tool. Where the tool is missing the block is skipped and its title says why; in CI, where
 * everything has to run, it fails instead.
 */
export const describeWithTool = (
  tool: RequiredTool,
  title: string,
  tests: () => void,
  options: { readonly concurrent?: boolean } = {}
): void => {
  const missing = `${tool.name} ${tool.missingReason ?? "is not on the PATH"}`
  if (tool.present) {
    describe(title, options, tests)
  } else if (process.env["CI"] === "true") {
    describe(title, () => {
      it(`The test suite needs ${tool.name}`, () => assert.fail(`${missing}, and in CI nothing is skipped`))
    })
  } else {
    describe.skip(`${title} (skipped: ${missing})`, tests)
  }
}
