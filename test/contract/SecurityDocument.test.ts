import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")
const page = readFileSync(join(root, "docs/security.md"), "utf8")

/** Requirements of levels 1 and 2 in the chapters V6 and V7 of the OWASP ASVS 5.0, as the standard numbers them. */
const levels = {
  1: "6.1.1 6.2.1 6.2.2 6.2.3 6.2.4 6.2.5 6.2.6 6.2.7 6.2.8 6.3.1 6.3.2 6.4.1 6.4.2 7.2.1 7.2.2 7.2.3 7.2.4 7.4.1 7.4.2",
  2: "6.1.2 6.1.3 6.2.9 6.2.10 6.2.11 6.2.12 6.3.3 6.3.4 6.4.3 6.4.4 6.5.1 6.5.2 6.5.3 6.5.4 6.5.5 6.6.1 6.6.2 6.6.3 6.8.1 6.8.2 6.8.3 6.8.4 7.1.1 7.1.2 7.1.3 7.3.1 7.3.2 7.4.3 7.4.4 7.4.5 7.5.1 7.5.2 7.6.1 7.6.2"
}
const states = ["met", "partly", "not met", "not applicable"]

interface Row {
  readonly id: string
  readonly level: string
  readonly state: string
  readonly shown: string
}

const rows: ReadonlyArray<Row> = page.split("\n").flatMap((line) => {
  const [, id = "", level = "", , state = "", shown = ""] = line.split("|").map((column) => column.trim())
  return /^\d+\.\d+\.\d+$/.test(id) ? [{ id, level, state, shown }] : []
})

describe("docs/security.md", () => {
  it("docs/security.md lists every requirement of levels 1 and 2 of V6 and V7 once", () => {
    const expected = Object.entries(levels).flatMap(([level, ids]) =>
      ids.split(" ").map((id) => `${id} of level ${level}`)
    )
    assert.deepStrictEqual(rows.map(({ id, level }) => `${id} of level ${level}`).toSorted(), expected.toSorted())
  })

  it("docs/security.md states for each requirement whether it is met, and by which test", () => {
    for (const { id, shown, state } of rows) {
      assert.include(states, state, id)
      assert.notStrictEqual(shown, "", id)
      if (state === "met" || state === "partly") assert.match(shown, /`[\w/.-]+\.test\.ts`/, `${id} names a test`)
    }
  })

  it("docs/security.md names existing tests and pages", () => {
    const tests = [...page.matchAll(/`((?:test|packages)\/[\w/.-]+)`/g)].map(([, path = ""]) => path)
    const links = [...page.matchAll(/\]\((?!https:)([^)]+)\)/g)].map(([, path = ""]) => join("docs", path))
    assert.isAtLeast(tests.length, 40)
    for (const path of [...tests, ...links]) assert.isTrue(existsSync(join(root, path)), path)
  })
})
