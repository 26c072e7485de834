import { skillLimits } from "@berth/domain/skills/uploads/SkillPackage"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { readSkillFiles } from "../../src/skills/UploadedSkillPackages.ts"
import { readZip } from "../../src/skills/ZipFiles.ts"
import { makeZip, type ZipEntry } from "../../../../test/support/ZipArchive.ts"

const main = (front = "name: word-count\ndescription: Counts words.") => `---\n${front}\n---\n# Word count\n\nUse it.`
const tool = {
  name: "count_words",
  description: "Counts words",
  parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  script: "scripts/count.mjs"
}
const folder = (files: Readonly<Record<string, string>> = {}, at = "") =>
  Object.entries({
    "SKILL.md": main(),
    "tools.json": JSON.stringify([tool]),
    "scripts/count.mjs": "export default () => 1",
    ...files
  }).map(([path, text]) => ({ path: at + path, content: new TextEncoder().encode(text) }))

const reasonOf = (files: ReturnType<typeof folder>) =>
  Either.match(readSkillFiles(files), { onLeft: ({ reason }) => reason, onRight: () => "accepted" })

describe("The reader of uploaded skills", () => {
  it("The reader of uploaded skills takes the description, the tools and the files, at the root or in one folder", () => {
    for (const at of ["", "word-count/"]) {
      const skill = Either.getOrThrow(readSkillFiles(folder({}, at)))
      assert.deepInclude(skill, {
        id: "word-count",
        name: "Word count",
        description: "Counts words.",
        instructions: "# Word count\n\nUse it.",
        tools: ["count_words"]
      })
      assert.sameMembers(Object.keys(skill.code.files), ["SKILL.md", "tools.json", "scripts/count.mjs"])
    }
  })

  it("The reader of uploaded skills reads a heading of any length at once", () => {
    const heading = `# ${"#".repeat(400_000)}x`
    const skill = Either.getOrThrow(readSkillFiles(folder({ "SKILL.md": `${main()}\n\n${heading}` })))
    assert.strictEqual(skill.name, "Word count")
    const named = Either.getOrThrow(readSkillFiles(folder({ "SKILL.md": main().replace("# Word count", heading) })))
    assert.isAtMost(named.name.length, 200)
  })

  const many = Object.fromEntries(Array.from({ length: skillLimits.files }, (_, at) => [`file${at}`, ""]))
  const rejected: ReadonlyArray<readonly [string, ReturnType<typeof folder>, RegExp]> = [
    ["without SKILL.md", folder().slice(1), /no SKILL\.md/],
    ["whose folder has another name", folder({}, "other/"), /name is word-count, but its folder is other/],
    ["without a description", folder({ "SKILL.md": main("name: word-count") }), /description is missing/],
    ["with a long description", folder({ "SKILL.md": main(`name: a\ndescription: ${"x".repeat(1025)}`) }), /1024/],
    ["with capital letters in its name", folder({ "SKILL.md": main("name: Word\ndescription: x") }), /lower case/],
    [
      "with an unknown member",
      folder({ "SKILL.md": main("name: a\ndescription: x\nauthor: me") }),
      /author is not a member/
    ],
    ["with a path out of its folder", folder({ "../x": "" }), /path "\.\.\/x"/],
    ["with an absolute path", folder({ "/etc/x": "" }), /path "\/etc\/x"/],
    ["with a backslash in a path", folder({ "a\\b": "" }), /not allowed/],
    ["with a hidden file", folder({ ".env": "" }), /not allowed/],
    ["with paths that differ in case", folder({ "skill.md": "" }), /skill\.md is there twice/],
    ["with a file that is also a folder", folder({ scripts: "" }), /scripts is there twice/],
    ["with two files of one path", [...folder(), ...folder().slice(1, 2)], /tools\.json is there twice/],
    ["with long front matter", folder({ "SKILL.md": main(`name: a\ndescription: x\n#${"x".repeat(9000)}`) }), /8192/],
    ["with deeply nested front matter", folder({ "SKILL.md": main("[".repeat(8000)) }), /not YAML/],
    [
      "with deeply nested tools",
      folder({ "tools.json": `${'[{"items":'.repeat(20_000)}1${"}]".repeat(20_000)}` }),
      /nested too deeply/
    ],
    ["with too many files", folder(many), /files; 64 are allowed/],
    ["that is too large", folder({ large: "x".repeat(skillLimits.bytes) }), /bytes; 524288 are allowed/],
    ["with tools that are no JSON", folder({ "tools.json": "[" }), /^tools\.json/],
    ["with two tools of one name", folder({ "tools.json": JSON.stringify([tool, tool]) }), /count_words is taken/],
    [
      "with a script that is not there",
      folder({ "tools.json": JSON.stringify([{ ...tool, script: "no.mjs" }]) }),
      /no\.mjs is not in the folder/
    ],
    [
      "with a script of another language",
      folder({ "tools.json": JSON.stringify([{ ...tool, script: "SKILL.md" }]) }),
      /\.mjs or \.js/
    ],
    [
      "with parameters beyond the subset of JSON Schema",
      folder({
        "tools.json": JSON.stringify([{ ...tool, parameters: { type: "object", properties: {}, $ref: "#" } }])
      }),
      /^tools\.json/
    ]
  ]
  for (const [why, files, reason] of rejected)
    it(`The reader of uploaded skills rejects a folder ${why}`, () => {
      assert.match(reasonOf(files), reason)
    })
})

describe("readZip", () => {
  const read = (entries: ReadonlyArray<ZipEntry>) => Effect.either(readZip(makeZip(entries)))

  it.effect("readZip returns stored and compressed files", () =>
    Effect.gen(function* () {
      const files = Either.getOrThrow(
        yield* read([
          { name: "a/" },
          { name: "a/one", text: "first" },
          { name: "two", text: "x".repeat(1000), deflates: true }
        ])
      )
      assert.deepStrictEqual(
        files.map(({ content, path }) => [path, new TextDecoder().decode(content)]),
        [
          ["a/one", "first"],
          ["two", "x".repeat(1000)]
        ]
      )
    })
  )

  const bomb = "x".repeat(skillLimits.bytes + 1)
  const rejected: ReadonlyArray<readonly [string, ReadonlyArray<ZipEntry>, RegExp]> = [
    ["a path out of the archive", [{ name: "../../etc/cron.d/x", text: "" }], /invalid relative path/],
    ["an absolute path", [{ name: "/etc/x", text: "" }], /absolute path/],
    ["a link", [{ name: "link", text: "/etc/passwd", mode: 0o120777 }], /link is a link/],
    ["more bytes than allowed", [{ name: "bomb", text: bomb, deflates: true }], /more than 524288 bytes/],
    [
      "files of more bytes together",
      [
        { name: "a", text: bomb.slice(9), deflates: true },
        { name: "b", text: "x".repeat(99) }
      ],
      /more than 524288 bytes/
    ],
    [
      "more bytes than it declares",
      [{ name: "bomb", text: bomb, deflates: true, declaredSize: 10 }],
      /too many bytes|more than/
    ],
    ["a damaged file", [{ name: "a", text: "Sail", checksum: 1 }], /a is damaged/],
    ["an encrypted file", [{ name: "secret", text: "x", deflates: true, flags: 1 }], /encrypted/],
    ["too many entries", Array.from({ length: 300 }, (_, at) => ({ name: `f${at}`, text: "" })), /300 entries/]
  ]
  for (const [why, entries, reason] of rejected)
    it.effect(`readZip rejects an archive with ${why}`, () =>
      Effect.gen(function* () {
        const outcome = yield* read(entries)
        assert.match(Either.isLeft(outcome) ? outcome.left.reason : "accepted", reason)
      })
    )

  it.effect("readZip rejects a body that is not an archive", () =>
    Effect.gen(function* () {
      const { reason } = yield* Effect.flip(readZip(new TextEncoder().encode("no archive")))
      assert.match(reason, /^The zip archive cannot be used/)
    })
  )
})
