import { WebApi } from "@berth/api/WebApi"
import { parseJsonBody } from "@berth/server/http/RequestBody"
import { listMethods, findRoute, listRoutes } from "@berth/server/http/RouteTable"
import { assert, describe, it } from "@effect/vitest"
import { Either, Option } from "effect"

const table = listRoutes(WebApi)

describe("the route table of the web API", () => {
  it("The route table prefers literal segments to parameters", () =>
    assert.strictEqual(
      Option.getOrThrow(findRoute(table, "GET", "/api/agents/provision")).path,
      "/api/agents/provision"
    ))
  it("The route table answers HEAD where GET is", () =>
    assert.isTrue(Option.isSome(findRoute(table, "HEAD", "/api/settings"))))
  it("The route table returns the methods of a path", () => {
    assert.deepStrictEqual(
      new Set(listMethods(table, "/api/settings")),
      new Set(["GET", "HEAD", "POST", "PATCH", "DELETE"])
    )
    assert.deepStrictEqual(listMethods(table, "/nowhere"), [])
  })
  it("The route table returns the body type of a route", () =>
    assert.deepStrictEqual(
      new Set(Option.getOrThrow(findRoute(table, "POST", "/api/auth/callback/credentials")).bodyTypes),
      new Set(["application/json", "application/x-www-form-urlencoded"])
    ))
})

describe("parseJson", () => {
  const parse = (text: string) => parseJsonBody(new TextEncoder().encode(text))
  it("parseJson returns an empty object for an empty body", () => assert.deepStrictEqual(parse(" "), Either.right({})))
  it("parseJson rejects malformed JSON", () => assert.isTrue(Either.isLeft(parse("{bad"))))
  it("parseJson rejects bytes that are not UTF-8", () =>
    assert.isTrue(Either.isLeft(parseJsonBody(Uint8Array.from([0x22, 0xff, 0x22])))))
  it("parseJson rejects U+0000 and lone surrogates, also in keys, but not their escaped names", () => {
    assert.isTrue(Either.isLeft(parse('{"a":["\\u0000"]}')))
    assert.isTrue(Either.isLeft(parse('{"\\ud800":1}')))
    assert.deepStrictEqual(parse('{"a":"\\\\u0000"}'), Either.right({ a: "\\u0000" }))
  })
})
