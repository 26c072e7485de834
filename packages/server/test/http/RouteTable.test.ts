import { WebApi } from "@berth/api/WebApi"
import { parseJsonBody } from "@berth/server/http/RequestBody"
import { listMethods, findRoute, listRoutes } from "@berth/server/http/RouteTable"
import { assert, describe, it } from "@effect/vitest"
import { Either, Option } from "effect"

const table = listRoutes(WebApi)

describe("the route table of the web API", () => {
  it("knows literal segments before parameters", () =>
    assert.strictEqual(
      Option.getOrThrow(findRoute(table, "GET", "/api/agents/provision")).path,
      "/api/agents/provision"
    ))
  it("answers HEAD where GET is", () => assert.isTrue(Option.isSome(findRoute(table, "HEAD", "/api/settings"))))
  it("names the methods of a path", () => {
    assert.deepStrictEqual(
      new Set(listMethods(table, "/api/settings")),
      new Set(["GET", "HEAD", "POST", "PATCH", "DELETE"])
    )
    assert.deepStrictEqual(listMethods(table, "/nowhere"), [])
  })
  it("knows which bodies a route takes", () =>
    assert.deepStrictEqual(
      new Set(Option.getOrThrow(findRoute(table, "POST", "/api/auth/callback/credentials")).bodyTypes),
      new Set(["application/json", "application/x-www-form-urlencoded"])
    ))
})

describe("parseJson", () => {
  const parse = (text: string) => parseJsonBody(new TextEncoder().encode(text))
  it("reads nothing as an object with nothing in it", () => assert.deepStrictEqual(parse(" "), Either.right({})))
  it("refuses what is not JSON", () => assert.isTrue(Either.isLeft(parse("{bad"))))
  it("refuses bytes that are not UTF-8", () =>
    assert.isTrue(Either.isLeft(parseJsonBody(Uint8Array.from([0x22, 0xff, 0x22])))))
  it("refuses U+0000 and lone surrogates, in keys too, but not their names", () => {
    assert.isTrue(Either.isLeft(parse('{"a":["\\u0000"]}')))
    assert.isTrue(Either.isLeft(parse('{"\\ud800":1}')))
    assert.deepStrictEqual(parse('{"a":"\\\\u0000"}'), Either.right({ a: "\\u0000" }))
  })
})
