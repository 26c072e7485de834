import { assert, describe, it } from "@effect/vitest"
import { cruise } from "dependency-cruiser"
import extractConfiguration from "dependency-cruiser/config-utl/extract-depcruise-config"
import { Effect } from "effect"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const { forbidden = [] } = await extractConfiguration(
  fileURLToPath(new URL("../../.dependency-cruiser.cjs", import.meta.url))
)

/** Names of the rules that an import violates, in a tree of these two files. */
const violatedRules = (from: string, to: string) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "berth-boundaries-"))),
    (root) =>
      Effect.promise(async () => {
        for (const [file, text] of [
          [from, `import "${join(root, to)}"\n`],
          [to, "export {}\n"]
        ] as const) {
          mkdirSync(dirname(join(root, file)), { recursive: true })
          writeFileSync(join(root, file), text)
        }
        const { output } = await cruise(["packages"], { ruleSet: { forbidden }, validate: true, baseDir: root })
        return typeof output === "string" ? [] : output.summary.violations.map(({ rule }) => rule.name)
      }),
    (root) => Effect.sync(() => rmSync(root, { recursive: true }))
  )

describe("The import rules", () => {
  it.live.each<readonly [rule: string, from: string, to: string]>([
    ["domain-imports", "packages/domain/src/shared/A.ts", "packages/api/src/http/B.ts"],
    ["accounts-order", "packages/domain/src/accounts/A.ts", "packages/domain/src/billing/B.ts"],
    ["accounts-order", "packages/server/src/accounts/A.ts", "packages/api/src/billing/events/B.ts"],
    ["sessions-order", "packages/infra/src/postgres/sessions/A.ts", "packages/infra/src/postgres/signin/B.ts"],
    ["agents-order", "packages/worker/src/agents/A.ts", "packages/domain/src/gateway/B.ts"],
    ["stores-of-their-context", "packages/domain/src/signin/A.ts", "packages/domain/src/accounts/UserRepository.ts"],
    ["server-wiring", "packages/server/src/agents/A.ts", "packages/infra/src/chain/B.ts"]
  ])("report %s for %s importing %s", ([rule, from, to]) =>
    Effect.gen(function* () {
      assert.include(yield* violatedRules(from, to), rule)
    })
  )

  it.live("The import rules allow a context to import an earlier one", () =>
    Effect.gen(function* () {
      const violations = yield* violatedRules(
        "packages/domain/src/billing/A.ts",
        "packages/domain/src/accounts/Users.ts"
      )
      assert.deepStrictEqual(violations, [])
    })
  )
})
