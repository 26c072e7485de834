import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc, Option } from "effect"
import { parsePostmaster } from "../../src/embedded-postgres/Postmaster.ts"

const number = fc.integer({ min: 1, max: 65_535 })
const file = (pid: number, port: number, state: string) =>
  `${pid}\n/data/cluster\n1763600000\n${port}\n\n127.0.0.1\n   123456         7\n${state}\n`

describe("parsePostmaster", () => {
  it.prop("parsePostmaster reads a server's number, port and state", [number, number], ([pid, port]) => {
    assert.deepStrictEqual(parsePostmaster(file(pid, port, "ready   ")), Option.some({ pid, port, isReady: true }))
    assert.deepStrictEqual(parsePostmaster(file(pid, port, "starting")), Option.some({ pid, port, isReady: false }))
    assert.deepStrictEqual(parsePostmaster(file(pid, port, "stopping")), Option.some({ pid, port, isReady: false }))
  })

  it.prop(
    "parsePostmaster is never ready in a file that is still being written",
    [number, number, fc.nat({ max: 30 })],
    ([pid, port, cut]) => {
      const half = file(pid, port, "").slice(0, -1 - cut)
      assert.isFalse(Option.exists(parsePostmaster(half), (postmaster) => postmaster.isReady))
    }
  )

  it.prop("parsePostmaster accepts any text", [fc.string()], ([text]) => {
    const found = parsePostmaster(text)
    assert.isTrue(Option.isNone(found) || (found.value.pid > 0 && found.value.port >= 0))
  })
})
