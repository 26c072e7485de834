import { WebApi } from "@berth/api/WebApi"
import { listMethods, findRoute, listRoutes } from "@berth/server/http/RouteTable"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"

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
