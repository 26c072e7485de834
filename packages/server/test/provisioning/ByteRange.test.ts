import { decideByteRange } from "@berth/server/provisioning/ByteRange"
import { moveStreamKeyToHeader } from "@berth/server/provisioning/StreamKeys"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import type { IncomingHttpHeaders } from "node:http"

describe("decideByteRange", () => {
  it("decideByteRange reads one range of bytes and ignores everything else", () => {
    const table: ReadonlyArray<readonly [string | undefined, ReturnType<typeof decideByteRange>]> = [
      [undefined, Option.none()],
      ["bytes=0-", Option.some({ first: 0, last: 9 })],
      ["bytes=2-4", Option.some({ first: 2, last: 4 })],
      ["bytes=2-99", Option.some({ first: 2, last: 9 })],
      ["bytes=-3", Option.some({ first: 7, last: 9 })],
      ["bytes=-99", Option.some({ first: 0, last: 9 })],
      ["bytes=-0", Option.some("unsatisfiable")],
      ["bytes=10-", Option.some("unsatisfiable")],
      ["bytes=4-2", Option.none()],
      ["bytes=0-1,3-4", Option.none()],
      ["bytes=-", Option.none()],
      ["items=0-1", Option.none()]
    ]
    for (const [header, expected] of table) assert.deepStrictEqual(decideByteRange(header, 10), expected, header)
  })
})

describe("moveStreamKeyToHeader", () => {
  it("moveStreamKeyToHeader takes the key out of ingest paths only", () => {
    const moved = (url: string, headers: IncomingHttpHeaders = {}) => {
      const request = { url, headers }
      moveStreamKeyToHeader(request)
      return [request.url, headers["x-stream-token"]]
    }
    assert.deepStrictEqual(moved("/live/ingest/k3y/seg0.ts?a=b"), ["/live/ingest/-/seg0.ts?a=b", "k3y"])
    assert.deepStrictEqual(moved("/live/ingest/-/a.ts", { "x-stream-token": "mine" }), ["/live/ingest/-/a.ts", "-"])
    assert.deepStrictEqual(moved("/live/lst_1/seg0.ts"), ["/live/lst_1/seg0.ts", undefined])
  })
})
