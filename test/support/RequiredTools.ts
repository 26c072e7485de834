import { assert, describe, inject, it } from "vitest"

/** A program or service outside the repository that a test requires. */
export interface RequiredTool {
  readonly name: string
  readonly present: boolean
  /** Default: "is not on the PATH". */
  readonly missingReason?: string
}

export const redisServer: RequiredTool = { name: "redis-server", present: inject("redisUrl") !== "" }

/**
 * A block of tests that requires a tool. Without the tool the block is skipped with the reason in its title; in CI it
 * fails.
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
