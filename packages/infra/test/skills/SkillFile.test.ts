import { parseSkillFile } from "@berth/infra/skills/SkillFile"
import { assert, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const file = (matter: string, body = "# Weather\n\nAsk for it.\n") => `---\n${matter}\n---\n\n${body}`
const good = "name: weather\ndescription: Tells the weather."

const fault = (matter: string, folder = "weather") =>
  Either.match(parseSkillFile(folder, file(matter)), { onLeft: (left) => left, onRight: () => "nothing" })

it("readSkillFile reads the format, with both spellings of tools", () => {
  const skill = {
    id: "weather",
    name: "Weather",
    description: "Tells the weather.",
    instructions: "# Weather\n\nAsk for it.",
    tools: [],
    basic: false
  }
  assert.deepStrictEqual(Either.getOrThrow(parseSkillFile("weather", file(good))), skill)
  const rest =
    "license: MIT\ncompatibility: Needs rain.\nsomething-else: 3\nmetadata:\n  berth-tier: basic\n  version: '1.0'"
  const full = { ...skill, tools: ["look_up", "ask"], basic: true }
  for (const tools of ["allowed-tools: look_up  ask", "allowed-tools:\n  - look_up\n  - ask"])
    assert.deepStrictEqual(Either.getOrThrow(parseSkillFile("weather", file(`${good}\n${rest}\n${tools}`))), full)
  const windows = `\uFEFF${file(good).replaceAll("\n", "\r\n")}`
  assert.deepStrictEqual(Either.getOrThrow(parseSkillFile("weather", windows)), skill)
  assert.containSubset(Either.getOrThrow(parseSkillFile("weather", `---\n${good}\n---`)), {
    name: "weather",
    instructions: ""
  })
})

it("readSkillFile describes each error", () => {
  assert.include(fault("description: d"), "name is missing")
  assert.include(fault("name: weather"), "description is missing")
  assert.include(fault("name: ["), "not YAML")
  assert.include(fault("- a\n- b"), "not a map")
  assert.strictEqual(fault(good, "rain"), "name is weather, but its folder is rain")
  for (const name of ["Weather", "-w", "w-", "w--x", "w_x", "x".repeat(65), "''"])
    assert.include(fault(`name: ${name}\ndescription: d`, name), "name must be lower case")
  assert.include(fault(`name: weather\ndescription: ${"d".repeat(1025)}`), "description must have 1 to 1024")
  assert.include(fault("name: weather\ndescription: '  '"), "description must have 1 to 1024")
  assert.include(fault(`${good}\ncompatibility: ''`), "compatibility must have 1 to 500")
  assert.include(fault(`${good}\nmetadata:\n  version: 1`), "metadata.version")
  assert.include(fault(`${good}\nallowed-tools: Bash(git:*)`), "allowed-tools")
  assert.include(fault(`${good}\nname: again`), "not YAML")
  // Nested aliases, which would exhaust the memory.
  const bomb = [
    "a: &a [x,x,x,x,x,x,x,x,x]",
    ..."bcdefgh".split("").map((key, at) => `${key}: &${key} [${Array(9).fill(`*${"abcdefgh"[at]}`).join(",")}]`)
  ]
  assert.include(fault(`${good}\n${bomb.join("\n")}`), "not YAML")
  for (const text of ["", "# Weather", `--- \n${good}`, `x\n${file(good)}`])
    assert.include(Either.merge(parseSkillFile("weather", text)), "front matter")
})

it.prop(
  "readSkillFile returns a skill or a sentence for any text",
  [FastCheck.string(), FastCheck.string()],
  ([matter, body]) => {
    const read = parseSkillFile("weather", file(matter, body))
    assert.isTrue(Either.isRight(read) || read.left.length > 0)
  }
)
