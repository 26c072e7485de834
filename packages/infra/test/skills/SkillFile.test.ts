import { parseSkillFile } from "@berth/infra/skills/SkillFile"
import { expect, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const file = (matter: string, body = "# Weather\n\nAsk for it.\n") => `---\n${matter}\n---\n\n${body}`
const good = "name: weather\ndescription: Tells the weather."

const fault = (matter: string, folder = "weather") =>
  Either.match(parseSkillFile(folder, file(matter)), { onLeft: (left) => left, onRight: () => "nothing" })

it("reads what the format says, in both spellings of the tools", () => {
  const skill = {
    id: "weather",
    name: "Weather",
    description: "Tells the weather.",
    instructions: "# Weather\n\nAsk for it.",
    tools: [],
    basic: false
  }
  expect(Either.getOrThrow(parseSkillFile("weather", file(good)))).toStrictEqual(skill)
  const rest =
    "license: MIT\ncompatibility: Needs rain.\nsomething-else: 3\nmetadata:\n  berth-tier: basic\n  version: '1.0'"
  const full = { ...skill, tools: ["look_up", "ask"], basic: true }
  for (const tools of ["allowed-tools: look_up  ask", "allowed-tools:\n  - look_up\n  - ask"])
    expect(Either.getOrThrow(parseSkillFile("weather", file(`${good}\n${rest}\n${tools}`)))).toStrictEqual(full)
  const windows = `\uFEFF${file(good).replaceAll("\n", "\r\n")}`
  expect(Either.getOrThrow(parseSkillFile("weather", windows))).toStrictEqual(skill)
  expect(Either.getOrThrow(parseSkillFile("weather", `---\n${good}\n---`))).toMatchObject({
    name: "weather",
    instructions: ""
  })
})

it("says what is wrong", () => {
  expect(fault("description: d")).toContain("name is missing")
  expect(fault("name: weather")).toContain("description is missing")
  expect(fault("name: [")).toContain("not YAML")
  expect(fault("- a\n- b")).toContain("not a map")
  expect(fault(good, "rain")).toBe("name is weather, but its folder is rain")
  for (const name of ["Weather", "-w", "w-", "w--x", "w_x", "x".repeat(65), "''"])
    expect(fault(`name: ${name}\ndescription: d`, name)).toContain("name must be lower case")
  expect(fault(`name: weather\ndescription: ${"d".repeat(1025)}`)).toContain("description must have 1 to 1024")
  expect(fault("name: weather\ndescription: '  '")).toContain("description must have 1 to 1024")
  expect(fault(`${good}\ncompatibility: ''`)).toContain("compatibility must have 1 to 500")
  expect(fault(`${good}\nmetadata:\n  version: 1`)).toContain("metadata.version")
  expect(fault(`${good}\nallowed-tools: Bash(git:*)`)).toContain("allowed-tools")
  expect(fault(`${good}\nname: again`)).toContain("not YAML")
  // Aliases of aliases, which would take all memory.
  const bomb = [
    "a: &a [x,x,x,x,x,x,x,x,x]",
    ..."bcdefgh".split("").map((key, at) => `${key}: &${key} [${Array(9).fill(`*${"abcdefgh"[at]}`).join(",")}]`)
  ]
  expect(fault(`${good}\n${bomb.join("\n")}`)).toContain("not YAML")
  for (const text of ["", "# Weather", `--- \n${good}`, `x\n${file(good)}`])
    expect(Either.merge(parseSkillFile("weather", text))).toContain("front matter")
})

it.prop(
  "is either a skill or a sentence, whatever the text",
  [FastCheck.string(), FastCheck.string()],
  ([matter, body]) => {
    const read = parseSkillFile("weather", file(matter, body))
    expect(Either.isRight(read) || read.left.length > 0).toBe(true)
  }
)
