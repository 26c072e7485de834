import { type Skill, SkillCatalog } from "@berth/domain/skills/Skill"
import { Layer } from "effect"

/** A basic skill and a premium skill. */
const sampleSkills: ReadonlyArray<Skill> = [
  {
    id: "time",
    name: "Time",
    description: "Tells the time.",
    instructions: "# Time\n\nAsk for it.",
    tools: ["current_time"],
    basic: true
  },
  {
    id: "web-fetch",
    name: "Web fetch",
    description: "Reads a web page.",
    instructions: "# Web fetch\n\nGive an address.",
    tools: ["fetch_web_page"],
    basic: false
  }
]

export const sampleSkillCatalog = Layer.succeed(SkillCatalog, sampleSkills)
