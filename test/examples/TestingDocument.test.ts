import { assert, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"

const document = readFileSync(new URL("../../docs/testing.md", import.meta.url), "utf8")

it("docs/testing.md quotes every example as it is", () => {
  const examples = readdirSync(import.meta.dirname).filter(
    (name) => name.endsWith(".test.ts") && name !== "TestingDocument.test.ts"
  )
  assert.lengthOf(examples, document.split("```ts\n").length - 1)
  for (const name of examples)
    assert.include(document, `\`\`\`ts\n${readFileSync(new URL(name, import.meta.url), "utf8")}\`\`\``, name)
})
