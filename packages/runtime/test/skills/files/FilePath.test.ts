import { parseFilePath } from "@berth/runtime/skills/files/FilePath"
import { assert, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { posix, win32 } from "node:path"

const read = (path: string) => Either.merge(parseFilePath(path))

it("parseFilePath accepts and normalizes relative paths", () => {
  assert.deepStrictEqual(read("a.md"), ["a.md"])
  assert.deepStrictEqual(read("./notes//shopping list.md/"), ["notes", "shopping list.md"])
  assert.deepStrictEqual(read(".hidden/…/☺"), [".hidden", "…", "☺"])
})

it("parseFilePath explains why a path is invalid", () => {
  assert.include(read("/etc/passwd"), "relative")
  for (const path of ["..", "../a", "a/../../b", "a/..", "a/../b"]) assert.include(read(path), "..")
  for (const path of ["", ".", "./", "././"]) assert.include(read(path), "names no file")
  for (const path of ["a\u0000b", "..\\a", "a\nb", "\ud800"]) assert.include(read(path), "characters")
  assert.include(read("x".repeat(201)), "longer than 200 bytes")
  assert.include(read("☺".repeat(67)), "longer than 200 bytes")
  assert.include(read("a/b/c/d/e/f/g/h/i"), "deeper")
})

const piece = FastCheck.constantFrom("..", ".", "/", "\\", "a", "%2e%2e", "\u0000", "~", "C:", " ", "…")

it.prop(
  "parseFilePath never leaves the folder",
  [
    FastCheck.oneof(
      FastCheck.string(),
      FastCheck.array(piece, { maxLength: 12 }).map((all) => all.join(""))
    )
  ],
  ([path]) => {
    const names = parseFilePath(path)
    if (Either.isLeft(names)) return
    assert.isTrue(posix.resolve("/root/files", ...names.right).startsWith("/root/files/"))
    for (const name of names.right) assert.include([posix.basename(name), win32.basename(`x\\${name}`)], name)
  }
)
