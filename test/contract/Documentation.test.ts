import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { dirname, join } from "node:path"

const root = join(import.meta.dirname, "../..")
const read = (page: string) => readFileSync(join(root, page), "utf8")
const pages = ["", "docs", "docs/decisions", "bench"].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith(".md"))
    .map((file) => join(folder, file))
)

const exists = (...path: ReadonlyArray<string>) => existsSync(join(root, ...path))

/** The table of docs/architecture.md: its paths are relative to these folders, by column. */
const columns = ["packages/domain/src", "packages/api/src", "packages/infra/src", ""]
const rows = read("docs/architecture.md")
  .split("\n")
  .filter((line) => line.startsWith("|") && line.includes(".ts`"))
  .map((line) => line.split("|").slice(2, 6))

describe("The documentation", () => {
  it("docs/architecture.md names existing files in every row", () => {
    assert.isAtLeast(rows.length, 35)
    for (const row of rows)
      for (const [index, folder] of columns.entries())
        for (const [, path = ""] of (row[index] ?? "").matchAll(/`([\w/.-]+\.ts)`/g))
          assert.isTrue(exists(folder, path), join(folder, path))
  })

  it("Every page names existing files", () => {
    for (const page of pages)
      for (const [, path = ""] of read(page).matchAll(
        /`((?:packages|test|scripts|docs|deploy|bench|\.ci)\/[\w/.-]+\w)\/?`/g
      ))
        assert.isTrue(exists(path), `${page}: ${path}`)
  })

  it("Every relative link refers to a file", () => {
    for (const page of pages)
      for (const [, path = ""] of read(page).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g))
        assert.isTrue(exists(dirname(page), path), `${page}: ${path}`)
  })
})
