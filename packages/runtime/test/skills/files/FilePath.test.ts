import { parseFilePath } from "@berth/runtime/skills/files/FilePath"
import { expect, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { posix, win32 } from "node:path"

const read = (path: string) => Either.merge(parseFilePath(path))

it("takes relative paths, and puts them plainly", () => {
  expect(read("a.md")).toStrictEqual(["a.md"])
  expect(read("./notes//shopping list.md/")).toStrictEqual(["notes", "shopping list.md"])
  expect(read(".hidden/…/☺")).toStrictEqual([".hidden", "…", "☺"])
})

it("says why a path is none", () => {
  expect(read("/etc/passwd")).toContain("relative")
  for (const path of ["..", "../a", "a/../../b", "a/..", "a/../b"]) expect(read(path)).toContain("..")
  for (const path of ["", ".", "./", "././"]) expect(read(path)).toContain("names no file")
  for (const path of ["a\u0000b", "..\\a", "a\nb", "\ud800"]) expect(read(path)).toContain("characters")
  expect(read("x".repeat(201))).toContain("longer than 200 bytes")
  expect(read("☺".repeat(67))).toContain("longer than 200 bytes")
  expect(read("a/b/c/d/e/f/g/h/i")).toContain("deeper")
})

const piece = FastCheck.constantFrom("..", ".", "/", "\\", "a", "%2e%2e", "\u0000", "~", "C:", " ", "…")

it.prop(
  "never leads out of the folder",
  [
    FastCheck.oneof(
      FastCheck.string(),
      FastCheck.array(piece, { maxLength: 12 }).map((all) => all.join(""))
    )
  ],
  ([path]) => {
    const names = parseFilePath(path)
    if (Either.isLeft(names)) return
    expect(posix.resolve("/root/files", ...names.right).startsWith("/root/files/")).toBe(true)
    for (const name of names.right) expect([posix.basename(name), win32.basename(`x\\${name}`)]).toContain(name)
  }
)
