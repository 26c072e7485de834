import { findInstanceSite } from "@berth/server/http/InstanceHost"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"

const appUrl = new URL("https://example.com:8443")

describe("findInstanceSite", () => {
  const table: ReadonlyArray<readonly [string | undefined, string | undefined]> = [
    [undefined, undefined],
    ["", undefined],
    ["example.com", undefined],
    ["127.0.0.1:3000", undefined],
    ["[::1]:3000", undefined],
    ["agents.example.com.evil.example", undefined],
    ["xagents.example.com", undefined],
    ["usr-1.agents.example.com", "usr-1"],
    ["USR-1.Agents.Example.com.:8443", "usr-1"],
    ["agents.example.com", "-"],
    ["a.usr-1.agents.example.com", "-"],
    [".agents.example.com", "-"],
    ["evil@usr-1.agents.example.com", "-"],
    ["usr_1.agents.example.com", "-"],
    [`${"a".repeat(64)}.agents.example.com`, "-"]
  ]
  for (const [host, expected] of table)
    it(`findInstanceSite reads ${expected ?? "no subdomain"} from ${host ?? "no host"}`, () =>
      assert.strictEqual(
        Option.getOrUndefined(
          Option.map(
            findInstanceSite(host, { agentsDomain: "agents.example.com", appUrl }),
            ({ subdomain }) => subdomain
          )
        ),
        expected
      ))

  it("findInstanceSite takes the host of the web API for no instance's, also below the agents' domain", () => {
    const inside = new URL("https://app.agents.example.com")
    const settings = { agentsDomain: "agents.example.com", appUrl: inside }
    assert.isTrue(Option.isNone(findInstanceSite("app.agents.example.com", settings)))
  })

  it("findInstanceSite returns the origin with the scheme and port of the web API", () =>
    assert.strictEqual(
      Option.getOrThrow(findInstanceSite("usr-1.agents.example.com", { agentsDomain: "agents.example.com", appUrl }))
        .origin.origin,
      "https://usr-1.agents.example.com:8443"
    ))
})
