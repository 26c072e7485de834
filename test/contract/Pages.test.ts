import { html } from "@berth/server/pages/Html"
import { consoleRoutes } from "@berth/server/pages/ConsoleHttp"
import { pageRoutes } from "@berth/server/pages/PagesHttp"
import { assert, describe, it, layer } from "@effect/vitest"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { Email } from "@berth/domain/shared/Email"
import { Effect, FastCheck, Option, Redacted } from "effect"
import { Parser } from "htmlparser2"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { insertAgent, uniqueName } from "../support/Samples.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent, withTableHidden } from "./OwnerFixtures.ts"

const browser = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" }

/** A page's elements in order with their attributes, and its text. */
const parse = (page: string) => {
  const elements: Array<readonly [string, Readonly<Record<string, string>>]> = []
  let text = ""
  const parser = new Parser({
    onopentag: (name, attributes) => elements.push([name, { ...attributes }]),
    ontext: (piece) => (text += piece)
  })
  parser.end(page)
  return { elements, text }
}

const unit = FastCheck.constantFrom("<", ">", '"', "'", "&", "/", "=", "`", "--", "script", " ", "\n", "on", "]]>")
const anyText = FastCheck.oneof(FastCheck.string({ unit: "binary" }), FastCheck.string({ unit }))

describe("The page template", () => {
  it("The page template escapes any text, in elements and attributes", () => {
    FastCheck.assert(
      FastCheck.property(anyText, anyText, (text, value) => {
        const { elements, text: shown } = parse(html`<p title="${value}">${[text]}</p>`.markup)
        assert.deepStrictEqual(elements, [["p", { title: value }]])
        assert.strictEqual(shown, text)
      }),
      { numRuns: 1000 }
    )
  })

  it("The page template keeps markup, and omits absent values", () => {
    const inner = html`<b>${1}</b>`
    assert.strictEqual(
      html`<p>${inner}${null}${undefined}${false}${[inner, "<"]}</p>`.markup,
      "<p><b>1</b><b>1</b>&lt;</p>"
    )
  })
})

const withSession = new Set(consoleRoutes.map(({ path }) => path))
const redirectsOfUsers = new Map([
  ["/", "/dashboard"],
  ["/login", "/dashboard"],
  ["/signup", "/onboarding"]
])
const paths = [...pageRoutes, ...consoleRoutes].flatMap(({ method, path }) =>
  method === "GET" && !path.includes(":") ? [path] : []
)

/** A page with a token in its address sends no referrer, not even to this service. */
const referrerPolicyOf = (path: string) =>
  ["/reset-password", "/undo-email-change"].includes(path) ? "no-referrer" : "same-origin"

const nonceOf = ({ text }: HttpCallResponse) => {
  const settings = parse(text).elements.find(([, { name }]) => name === "berth-console")?.[1]["content"] ?? ""
  return /"nonce":"([\w-]{43})"/.exec(settings)?.[1]
}

const assertPage = (answer: HttpCallResponse, status = 200, referrerPolicy = "same-origin") => {
  const nonce = nonceOf(answer)
  const style = nonce === undefined ? "'self'" : `'self' 'nonce-${nonce}'`
  assert.strictEqual(answer.status, status)
  assert.strictEqual(answer.headers["content-type"], "text/html; charset=utf-8")
  assert.strictEqual(answer.headers["cache-control"], "no-store")
  assert.strictEqual(answer.headers["x-content-type-options"], "nosniff")
  assert.strictEqual(answer.headers["referrer-policy"], referrerPolicy)
  assert.strictEqual(
    answer.headers["content-security-policy"],
    `default-src 'none'; script-src 'self'; style-src ${style}; connect-src 'self'; img-src 'self' data:; ` +
      "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
  )
  const { elements } = parse(answer.text)
  for (const [name, attributes] of elements) {
    assert.notEqual(name, "style")
    if (name === "script") assert.match(attributes["src"] ?? "", /^\/assets\//)
    for (const attribute of Object.keys(attributes)) assert.notMatch(attribute, /^(on|style$)/)
  }
  return elements
}

layer(App.shared, { excludeTestServices: true })("The pages", (it) => {
  it.effect("The pages have a strict content security policy and nothing inline, signed in or out", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      for (const path of paths) {
        const stranger = yield* App.web({ method: "GET", path, headers: browser })
        if (withSession.has(path)) {
          assert.deepStrictEqual(
            [stranger.status, stranger.headers.location, stranger.headers["cache-control"]],
            [302, `/login?callbackUrl=${encodeURIComponent(path)}`, "no-store"]
          )
        } else assertPage(stranger, 200, referrerPolicyOf(path))
        const own = yield* App.web({ method: "GET", path, as: owner })
        const redirect = redirectsOfUsers.get(path)
        if (redirect !== undefined) assert.deepStrictEqual([own.status, own.headers.location], [302, redirect])
        else assertPage(own, 200, referrerPolicyOf(path))
      }
    })
  )

  it.effect("The pages hide passwords, and allow pasting and password managers", () =>
    Effect.gen(function* () {
      const pages = [
        yield* App.web({ method: "GET", path: "/login", headers: browser }),
        yield* App.web({ method: "GET", path: "/signup", headers: browser }),
        yield* App.web({ method: "GET", path: "/reset-password?token=a", headers: browser })
      ]
      const fields = pages.flatMap(({ text }) =>
        parse(text).elements.flatMap(([name, attributes]) =>
          name === "input" && /password/i.test(attributes["name"] ?? "") ? [attributes] : []
        )
      )
      assert.isAtLeast(fields.length, 3)
      for (const field of fields) {
        assert.strictEqual(field["type"], "password", field["name"])
        assert.match(field["autocomplete"] ?? "", /^(current|new)-password$/, field["name"])
        for (const hindrance of ["readonly", "disabled", "maxlength"]) assert.notProperty(field, hindrance)
      }
      const scripts = new Set(
        pages.flatMap(({ text }) => parse(text).elements.flatMap(([, { src }]) => (src === undefined ? [] : [src])))
      )
      assert.isAtLeast(scripts.size, 2)
      for (const path of scripts)
        assert.notMatch((yield* App.web({ method: "GET", path })).text, /["'`](paste|beforeinput)["'`]/)
    })
  )

  it.effect("The pages offer the sign-out on every page of a session", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      for (const path of ["/dashboard", "/pricing"]) {
        const { text } = yield* App.web({ method: "GET", path, as: owner })
        const forms = parse(text).elements.flatMap(([name, { action }]) => (name === "form" ? [action] : []))
        assert.include(forms, "/api/auth/signout", path)
      }
    })
  )

  it.effect("The pages show no data of other users", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const path = `/dashboard?agent=${other.agent.id}`
      const page = yield* App.web({ method: "GET", path, as: one })
      assertPage(page)
      for (const secret of [other.agent.id, other.user.id, other.user.email, other.user.referralCode])
        assert.notInclude(page.text, secret)
      const head = yield* App.web({ method: "HEAD", path, as: one })
      assert.deepStrictEqual([head.status, head.text], [200, ""])
    })
  )

  it.effect("The address of a verification in mails opens the console, which names agents of its visitor alone", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const call = { method: "GET", path: `/dashboard/agents/${owner.agent.id}/verification`, headers: browser }
      const [anonymous, foreign, own] = [
        yield* App.web(call),
        yield* App.web({ ...call, as: stranger }),
        yield* App.web({ ...call, as: owner })
      ]
      assert.deepStrictEqual([anonymous.status, foreign.status, own.status], [302, 200, 200])
      assert.include(anonymous.headers.location, encodeURIComponent(call.path))
      assert.notInclude(foreign.text, owner.agent.id)
      assert.include(String(own.headers["content-security-policy"]), "default-src 'none'")
      assert.include(own.text, owner.agent.id)
    })
  )

  it.effect("The pages show names as text", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const name = `"><script src=//evil.example></script>&amp;'`
      yield* (yield* UserRepository).update(owner.user.id, { name })
      yield* insertAgent(owner.user.id, { name })
      const page = yield* App.web({ method: "GET", path: "/dashboard", as: owner })
      const elements = assertPage(page)
      assert.strictEqual(elements.filter(([name]) => name === "script").length, 1)
      assert.strictEqual(parse(page.text).text.split(name).length - 1, 2)
    })
  )

  it.effect("GET / has one button, which leads to the sign-up, and the sign-up leads to the sign-in", () =>
    Effect.gen(function* () {
      const linksOf = ({ text }: HttpCallResponse, kind: RegExp) =>
        parse(text).elements.flatMap(([name, { class: style = "", href = "" }]) =>
          name === "a" && kind.test(style) ? [href] : []
        )
      assert.deepStrictEqual(linksOf(yield* App.web({ method: "GET", path: "/" }), /button/), ["/signup"])
      const signup = yield* App.web({ method: "GET", path: "/signup?callbackUrl=%2Fpricing" })
      assert.include(linksOf(signup, /^$/), "/login?callbackUrl=%2Fpricing")
      const login = yield* App.web({ method: "GET", path: "/login?callbackUrl=%2Fpricing" })
      assert.include(linksOf(login, /^$/), "/signup?callbackUrl=%2Fpricing")
    })
  )

  it.effect("The pages carry a callback URL of the service only through the sign-up", () =>
    Effect.gen(function* () {
      for (const [query, carried] of [
        ["", "/onboarding"],
        ["?callbackUrl=%2Fpricing", "/pricing"],
        ["?callbackUrl=%2F%2Fevil.example", "/dashboard"]
      ]) {
        const { text } = yield* App.web({ method: "GET", path: `/signup${query}` })
        const field = parse(text).elements.find(([, { name }]) => name === "callbackUrl")
        assert.strictEqual(field?.[1]["value"], carried)
      }
    })
  )

  it.effect("/pricing in development offers each plan but the user's own without payment, and names it so", () =>
    Effect.gen(function* () {
      const offers = ({ text }: HttpCallResponse) =>
        parse(text).elements.flatMap(([name, { name: field, value = "" }]) =>
          name === "button" && field === "plan" ? [value] : []
        )
      const all = ["solo", "collective", "label", "network", "starter", "pro", "scale"]
      const newcomer = yield* App.web({ method: "GET", path: "/pricing", as: yield* App.signInNewUser() })
      assert.deepStrictEqual(offers(newcomer), all)
      assert.include(newcomer.text, "Development: no payment")
      const owner = yield* App.web({ method: "GET", path: "/pricing", as: yield* App.signInNewUser("pro") })
      assert.deepStrictEqual(
        offers(owner),
        all.filter((plan) => plan !== "pro")
      )
      assert.deepStrictEqual(offers(yield* App.web({ method: "GET", path: "/pricing" })), [])
    })
  )

  it.effect("/pricing lists what the plans include in words of customers", () =>
    Effect.gen(function* () {
      const { text } = yield* App.web({ method: "GET", path: "/pricing" })
      const plans = text.match(/<li class="card">.*?<\/ul>/gs) ?? []
      assert.deepStrictEqual(
        plans.map((plan) => [...plan.matchAll(/<li>(.*?)<\/li>/gs)].map(([, feature]) => feature)),
        [
          ["600 units per day", "1 agent", "Web, Telegram", "2 GiB of memory"],
          [
            "1,000 units per day",
            "3 agents",
            "1 additional runtime seat",
            "Web, Telegram, WhatsApp",
            "4 GiB of memory"
          ],
          ["2,500 units per day", "10 agents", "3 additional runtime seats", "White-label emails", "8 GiB of memory"],
          ["10,000 units per day", "Unlimited agents and seats", "White-label reselling", "16 GiB of memory"],
          ["600 units per day", "1 agent", "2 GiB of memory", "Web, Telegram", "Basic skills"],
          [
            "1,000 units per day",
            "1 agent",
            "4 GiB of memory",
            "Telegram, WhatsApp, Discord, Web",
            "All skills",
            "Priority support"
          ],
          [
            "2,500 units per day",
            "3 agents",
            "8 GiB of memory",
            "Telegram, WhatsApp, Discord, Web",
            "All skills",
            "Analytics"
          ]
        ]
      )
    })
  )

  it.effect("The pages show running and active agents by one word", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("network")
      for (const status of ["running", "active"] as const) yield* insertAgent(owner.user.id, { status })
      const { text } = yield* App.web({ method: "GET", path: "/dashboard", as: owner })
      assert.lengthOf(text.match(/data-status="(running|active)">Running</g) ?? [], 2)
    })
  )

  it.effect("The pages carry callback URLs of the service only", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const table = [
        ["/dashboard/files?a=b", "/dashboard/files?a=b"],
        ["//evil.example/", "/dashboard"],
        ["/.//evil.example/", "/dashboard"],
        ["javascript:alert(1)", "/dashboard"]
      ] as const
      for (const [requested, carried] of table) {
        const path = `/login?callbackUrl=${encodeURIComponent(requested)}`
        const elements = assertPage(yield* App.web({ method: "GET", path }))
        const field = elements.find(([, { name }]) => name === "callbackUrl")
        assert.strictEqual(field?.[1]["value"], carried)
        assert.strictEqual((yield* App.web({ method: "GET", path, as: owner })).headers.location, carried)
      }
      const deep = yield* App.web({ method: "GET", path: "/dashboard/files?error=a%26b" })
      assert.strictEqual(deep.headers.location, "/login?callbackUrl=%2Fdashboard%2Ffiles%3Ferror%3Da%2526b")
    })
  )

  it.effect("The console shows the outcomes of redirects in words, without a script, and once a plan is paid", () =>
    Effect.gen(function* () {
      const [newcomer, owner] = [yield* App.signInNewUser(), yield* App.signInNewUser("pro")]
      for (const [path, as, text, role = "status"] of [
        ["/dashboard?notice=credits_purchased", newcomer, "The credits will be on your account in a moment."],
        ["/dashboard?error=invalid_link", newcomer, "This link has expired or was used.", "alert"],
        ["/dashboard/files?error=canceled", newcomer, "The checkout was canceled; nothing was charged.", "alert"],
        ["/dashboard/files?checkout=done", newcomer, "The upgrade becomes active in a moment."],
        ["/onboarding?checkout=done", newcomer, "Your plan becomes active in a moment"],
        ["/onboarding?checkout=done&attempt=4", newcomer, "Your plan becomes active in a moment"],
        ["/onboarding?checkout=done&attempt=5", newcomer, "has not confirmed the payment yet"],
        ["/onboarding?checkout=done", owner, "Your plan is active."]
      ] as const) {
        const page = yield* App.web({ method: "GET", path, as })
        assert.include(parse(page.text).text, text)
        assert.isTrue(
          assertPage(page).some(([, attributes]) => attributes["role"] === role),
          path
        )
        const next = path.endsWith("attempt=4") ? [48, 5] : [3, 1]
        assert.strictEqual(
          page.headers["refresh"],
          text.endsWith("in a moment") ? `${next[0]}; url=/onboarding?checkout=done&attempt=${next[1]}` : undefined,
          path
        )
      }
      const plain = yield* App.web({ method: "GET", path: "/dashboard?error=%3Cscript%3E", as: newcomer })
      assert.include(parse(plain.text).text, "Sign-in failed. Try again.")
      assert.notInclude(plain.text, "&lt;script")
    })
  )

  it.effect("The pages offer a new agent only to users who may provision", () =>
    Effect.gen(function* () {
      for (const [plan, offered] of [
        [undefined, false],
        ["starter", true]
      ] as const) {
        const page = yield* App.web({ method: "GET", path: "/onboarding", as: yield* App.signInNewUser(plan) })
        assert.strictEqual(page.text.includes("You need a plan to create an agent"), !offered)
        assert.include(
          parse(page.text)
            .elements.flatMap(([, { content = "" }]) => [content])
            .join(),
          `"mayProvision":${String(offered)},"maximumAgents":1`
        )
      }
    })
  )

  it.effect("The pages show the price of the storage upgrade only where a card processor is configured", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser()
      const { text } = yield* App.web({ method: "GET", path: "/dashboard/files", as })
      assert.include(text, "&quot;upgrade&quot;:null")
    })
  )

  it.effect("The console without scripts names the next step, what is stored, and the verification of each agent", () =>
    Effect.gen(function* () {
      const [newcomer, payer, owner] = [
        yield* App.signInNewUser(),
        yield* App.signInNewUser("pro"),
        yield* createOwnerWithAgent()
      ]
      const linksOn = (path: string, as: App.SignedIn) =>
        Effect.map(App.web({ method: "GET", path, as }), (page) =>
          assertPage(page).flatMap(([, { href }]) => (href === undefined ? [] : [href]))
        )
      const [chat, verification] = ["chat", "verification"].map((tab) => `/dashboard/agents/${owner.agent.id}/${tab}`)
      assert.includeMembers(yield* linksOn("/dashboard", owner), [chat, verification])
      const instance = /agents\.localhost/
      assert.isTrue((yield* linksOn("/dashboard", owner)).some((href) => instance.test(href)))
      assert.isFalse((yield* linksOn("/dashboard", newcomer)).some((href) => instance.test(href)))
      for (const [as, path, text, absent] of [
        [newcomer, "/onboarding", "You need a plan to create an agent.", "Your plan:"],
        [payer, "/onboarding", "Your plan: Pro.", "You need a plan"],
        [owner, "/onboarding", "Your agents are on the dashboard.", "Units today"],
        [payer, "/dashboard/files", "Instance storage of your plan", "Units today"]
      ] as const) {
        const shown = parse((yield* App.web({ method: "GET", path, as })).text).text
        assert.include(shown, text)
        assert.notInclude(shown, absent)
      }
    })
  )

  it.effect("The pages show the storage of the plan", () =>
    Effect.gen(function* () {
      const ask = (as: App.SignedIn) => App.web({ method: "GET", path: "/dashboard/files", as })
      assert.include((yield* ask(yield* App.signInNewUser())).text, "256 MiB")
      assert.include((yield* ask(yield* App.signInNewUser("pro"))).text, "2 GiB")
    })
  )
})

const hints = /Development|owner@berth|admin@example\.com/

layer(App.layer({ isDevelopment: false, verifiedEmailsOnly: true }), { excludeTestServices: true })(
  "The pages in production",
  (it) => {
    it.effect("The pages name no administrator and offer no plan without payment", () =>
      Effect.gen(function* () {
        const as = yield* App.signInNewUser()
        for (const call of [{ path: "/signup" }, { path: "/pricing", as }, { path: "/onboarding", as }]) {
          const page = yield* App.web({ method: "GET", ...call })
          assertPage(page)
          assert.notMatch(page.text, hints)
        }
        assert.include((yield* App.web({ method: "GET", path: "/dashboard/files", as })).text, "50 GiB for")
      })
    )

    it.effect("The pages inform users without an email address that the free plan's units need one", () =>
      Effect.gen(function* () {
        const { appUrl } = yield* App.TestApp
        const users = yield* UserRepository
        const of = (email: string) =>
          Effect.gen(function* () {
            const { user } = yield* App.signInNewUser()
            const as = yield* App.openSession(
              yield* Effect.flatten(users.update(user.id, { email: Email.make(email) }))
            )
            return (yield* App.web({ method: "GET", path: "/dashboard", as })).text
          })
        const byWallet = yield* of(`0x${"a".repeat(40)}@wallet.${appUrl.hostname}`)
        assert.include(byWallet, "Add an email address")
        const byAddress = yield* of(`${yield* uniqueName("unconfirmed")}@example.com`)
        assert.include(byAddress, "Confirm your email address")
        assert.notMatch(byAddress, hints)
      })
    )
  }
)

const providersOn = Effect.gen(function* () {
  const { text } = yield* App.web({ method: "GET", path: "/login", headers: browser })
  return parse(text).elements.flatMap(([, { href }]) => (href?.startsWith("/api/auth/") === true ? [href] : []))
})

layer(App.shared, { excludeTestServices: true })("A sign-in page without providers", (it) => {
  it.effect("A sign-in page without providers offers no provider", () =>
    Effect.map(providersOn, (links) => assert.deepStrictEqual(links, []))
  )
})

const client = Option.some({ clientId: "berth", clientSecret: Redacted.make("s3cret") })

layer(App.layer({ oauthB: { client } }), { excludeTestServices: true })("A sign-in page with one provider", (it) => {
  it.effect("A sign-in page with one provider offers that provider", () =>
    Effect.map(providersOn, (links) => assert.deepStrictEqual(links, ["/api/auth/oauthB?callbackUrl=%2Fdashboard"]))
  )
})

layer(App.shared, { excludeTestServices: true })("Page assets", (it) => {
  it.effect("The console is for users only, and allows style elements by the nonce of its document", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const path = `/dashboard/agents/${owner.agent.id}/chat`
      const stranger = yield* App.web({ method: "GET", path, headers: browser })
      assert.deepStrictEqual(
        [stranger.status, stranger.headers.location],
        [302, `/login?callbackUrl=${encodeURIComponent(path)}`]
      )
      const nonces = new Set<string | undefined>()
      for (const address of [path, "/dashboard", "/dashboard/settings/keys"]) {
        const page = yield* App.web({ method: "GET", path: address, as: owner })
        assertPage(page)
        assert.include(page.text, '<link rel="modulepreload" href="/assets/console/chunk-HASH.js" />')
        nonces.add(nonceOf(page))
      }
      assert.isFalse(nonces.has(undefined))
      assert.strictEqual(nonces.size, 3)
    })
  )

  it.effect("The files of the console are compressed for clients that accept it, and cached forever", () =>
    Effect.gen(function* () {
      const path = "/assets/console/main-HASH.js"
      const tags = new Set<string | undefined>()
      for (const [accepted, encoding, text] of [
        ["gzip, deflate, br", "br", "/* main-HASH.js.br */"],
        ["gzip", "gzip", "/* main-HASH.js.gz */"],
        ["identity", undefined, "/* main-HASH.js */"]
      ] as const) {
        const answer = yield* App.web({ method: "GET", path, headers: { "accept-encoding": accepted } })
        assert.deepStrictEqual(
          [answer.status, answer.headers["content-encoding"], answer.text],
          [200, encoding, text],
          accepted
        )
        assert.strictEqual(answer.headers["cache-control"], "public, max-age=31536000, immutable")
        assert.strictEqual(answer.headers["vary"], "accept-encoding")
        const known = { "accept-encoding": accepted, "if-none-match": String(answer.headers.etag) }
        const again = yield* App.web({ method: "GET", path, headers: known })
        assert.deepStrictEqual([again.status, again.text, again.headers.etag], [304, "", answer.headers.etag])
        tags.add(answer.headers.etag)
      }
      assert.strictEqual(tags.size, 3)
      assert.strictEqual((yield* App.web({ method: "GET", path: "/assets/console/other.js" })).status, 404)
    })
  )

  const style = Effect.gen(function* () {
    const elements = assertPage(yield* App.web({ method: "GET", path: "/login" }))
    const [, attributes] = elements.find(([, { rel }]) => rel === "stylesheet") ?? assert.fail("no style sheet")
    return attributes["href"] ?? ""
  })

  it.effect("Page assets are immutable under their hashed address, and revalidated under any other", () =>
    Effect.gen(function* () {
      const path = yield* style
      const own = yield* App.web({ method: "GET", path })
      assert.deepStrictEqual(
        [own.status, own.headers["content-type"], own.headers["cache-control"], own.text],
        [200, "text/css; charset=utf-8", "public, max-age=31536000, immutable", "/* style.css */"]
      )
      const other = yield* App.web({ method: "GET", path: "/assets/style.css?v=older" })
      assert.deepStrictEqual([other.text, other.headers["cache-control"]], [own.text, "public, no-cache"])
      const etag = String(own.headers.etag)
      for (const tag of [etag, `W/${etag}`, `"a", ${etag}`, "*"]) {
        const again = yield* App.web({ method: "GET", path, headers: { "if-none-match": tag } })
        assert.deepStrictEqual([again.status, again.text, again.headers.etag], [304, "", etag])
      }
      assert.strictEqual((yield* App.web({ method: "GET", path, headers: { "if-none-match": '"a"' } })).status, 200)
    })
  )

  it.effect("Page assets exist under their names only", () =>
    Effect.gen(function* () {
      for (const path of ["/assets/other.js", "/assets/..%2Fserver.mjs", "/assets/__proto__", "/assets"])
        assertError(yield* App.web({ method: "GET", path }), { status: 404, code: "route_not_found" })
    })
  )
})

layer(App.shared, { excludeTestServices: true })("Error pages", (it) => {
  it.effect("Error pages are HTML for browsers and JSON for other clients", () =>
    Effect.gen(function* () {
      const page = yield* App.web({ method: "GET", path: "/nowhere", headers: browser })
      assertPage(page, 404)
      assert.include(page.text, "Not found")
      assert.include(page.text, "No page has this address.")
      assert.notInclude(page.text, "openapi.json")
      const missing = { status: 404, code: "route_not_found" }
      assertError(yield* App.web({ method: "GET", path: "/nowhere" }), missing)
      assertError(yield* App.web({ method: "POST", path: "/nowhere", headers: browser }), missing)
      assertError(yield* App.web({ method: "GET", path: "/api/settings", headers: browser }), {
        status: 401,
        code: "unauthorized"
      })
    })
  )

  it.effect("Error pages disclose no more than the JSON body", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const call = { method: "GET", path: "/dashboard", as: owner }
      const [page, json] = yield* withTableHidden("agents")(
        Effect.all([App.web({ ...call, headers: browser }), App.web(call)])
      )
      assertError(json, { status: 500, code: "internal" })
      assertPage(page, 500)
      assert.notMatch(page.text, /relation|select|hidden/)
      assert.include(parse(page.text).text, String(json.body["message"]))
      assert.match(page.text, /<code>[0-9a-f]{32}<\/code>/)
    })
  )
})

layer(App.shared, { excludeTestServices: true })("Page forms", (it) => {
  const form = { ...browser, "content-type": "application/x-www-form-urlencoded" }
  const path = "/api/auth/callback/credentials"
  const body = "email=nobody%40example.com&password=wrong-password"

  it.effect("Page forms redirect to the sign-in page with the error", () =>
    Effect.gen(function* () {
      const post = (path: string, headers: Readonly<Record<string, string>>, body: string) =>
        App.web({ method: "POST", path, headers, body })
      const table = [
        [`${path}?callbackUrl=%2Fpricing`, body, "error=credentials_invalid&callbackUrl=%2Fpricing"],
        [`${path}?callbackUrl=%2F%2Fevil.example`, body, "error=credentials_invalid&callbackUrl=%2Fdashboard"],
        [path, "email=a", "error=invalid_request&callbackUrl=%2Fdashboard"],
        ["/api/auth/callback/wallet", "message=a", "error=wallet_sign_in_rejected&callbackUrl=%2Fdashboard"]
      ] as const
      for (const [at, sent, query] of table) {
        const answer = yield* post(at, form, sent)
        assert.deepStrictEqual([answer.status, answer.headers.location, answer.text], [303, `/login?${query}`, ""])
      }
      const program = yield* post(path, { "content-type": form["content-type"] }, body)
      assertError(program, { status: 401, code: "credentials_invalid" })
      const foreign = yield* post(path, { ...form, origin: "https://evil.example" }, body)
      assert.strictEqual(foreign.headers.location, "/login?error=origin_not_allowed&callbackUrl=%2Fdashboard")
    })
  )

  const post = (path: string, fields: Readonly<Record<string, string>>, more: Partial<App.AppCall> = {}) =>
    App.web({
      method: "POST",
      path,
      body: new URLSearchParams(fields).toString(),
      ...more,
      headers: { ...form, ...more.headers }
    })

  const markedFields = (page: HttpCallResponse) => {
    const elements = assertPage(page, page.status)
    return elements.flatMap(([, attributes]) => {
      if (attributes["aria-invalid"] !== "true") return []
      const id = attributes["aria-describedby"] ?? ""
      const [, message] = new RegExp(`id="${id}">([^<]+)<`).exec(page.text) ?? []
      return [[attributes["name"], message, attributes["value"]]]
    })
  }

  it.effect(
    "The sign-up form registers, signs in and continues, by JSON's rules, and marks each field that is wrong",
    () =>
      Effect.gen(function* () {
        const { cookieName } = yield* App.TestApp
        const email = `${yield* uniqueName("form")}@example.com`
        const fields = { email, password: "correct horse battery", name: "", referralCode: "", callbackUrl: "/pricing" }
        const wrong = yield* post("/signup", { ...fields, email: `a"<b>`, password: "short", referralCode: "none-1" })
        assert.strictEqual(wrong.status, 400)
        assert.deepStrictEqual(markedFields(wrong), [
          ["email", "Must be a valid email address.", `a"<b>`],
          ["password", "Must have at least 8 characters", undefined],
          ["referralCode", "There is no such referral code.", "none-1"]
        ])
        assert.strictEqual(wrong.text.split("autofocus").length, 2)
        assert.notInclude(wrong.text, "short")
        const done = yield* post("/signup", fields)
        assert.deepStrictEqual([done.status, done.headers.location], [302, "/pricing"])
        assert.match(String(done.headers["set-cookie"]), new RegExp(`${cookieName}=[^;]+;.*HttpOnly`))
        const taken = yield* post("/signup", { ...fields, callbackUrl: "//evil.example/" })
        assert.deepStrictEqual([taken.status, markedFields(taken).map(([name]) => name)], [409, ["email"]])
        assert.include(taken.text, "/login?callbackUrl=%2Fdashboard")
        const foreign = yield* post("/signup", fields, { headers: { origin: "https://evil.example" } })
        assertPage(foreign, 403)
        assertError(yield* App.web({ method: "POST", path: "/api/register", headers: form, body: "email=a" }), {
          status: 415,
          code: "media_type_unsupported"
        })
      })
  )

  it.effect("The form for a forgotten password answers alike for every address, and marks one that is none", () =>
    Effect.gen(function* () {
      const { user } = yield* App.signInNewUser()
      for (const email of [user.email, `${yield* uniqueName("nobody")}@example.com`]) {
        const sent = yield* post("/forgot-password", { email })
        assert.deepStrictEqual([sent.status, sent.headers.location], [302, "/login?notice=reset_requested"])
      }
      const wrong = yield* post("/forgot-password", { email: "nobody" })
      assert.strictEqual(wrong.status, 400)
      assert.deepStrictEqual(markedFields(wrong), [["email", "Must be a valid email address.", "nobody"]])
      assertPage(yield* post("/forgot-password", { email: user.email }, { headers: { origin: "null" } }), 403)
    })
  )

  it.effect("Page forms sign out and redirect to the sign-in page", () =>
    Effect.gen(function* () {
      const { cookieName } = yield* App.TestApp
      const owner = yield* App.signInNewUser()
      const out = yield* App.web({ method: "POST", path: "/api/auth/signout", headers: form, body: "", as: owner })
      assert.deepStrictEqual([out.status, out.headers.location], [303, "/login"])
      assert.match(String(out.headers["set-cookie"]), new RegExp(`${cookieName}=;.*Max-Age=0`))
      assert.strictEqual((yield* App.web({ method: "GET", path: "/dashboard", as: owner })).status, 302)
      const program = yield* App.web({ method: "POST", path: "/api/auth/signout" })
      assert.deepStrictEqual([program.status, program.body], [200, { success: true }])
    })
  )
})
