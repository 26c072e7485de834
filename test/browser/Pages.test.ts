import { assert, layer, vi } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import type { Page } from "playwright-core"
import { type FakeTelegram, makeFakeTelegram } from "../fakes/channels/FakeTelegram.ts"
import { type FakeStripe, makeFakeStripe } from "../fakes/stripe/FakeStripe.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { type AttestationChain, startAttestationChain } from "../support/chain/AttestationChain.ts"
import { type NameChain, startNameChain } from "../support/chain/NameChain.ts"
import { describeWithTool } from "../support/RequiredTools.ts"
import { startBerth } from "../e2e/BerthProcess.ts"
import { type TestAccount, makeAccount } from "../e2e/WebClient.ts"
import { findAccessibilityViolations, Browser, browserTool, type PageVisit } from "./Browser.ts"
import * as BrowserLayer from "./Browser.ts"
import { injectWallet } from "./InjectedWallet.ts"

class Site extends Context.Tag("@berth/test/Site")<
  Site,
  {
    readonly url: string
    readonly logs: () => string
    readonly names: NameChain
    readonly attestations: AttestationChain
    readonly cards: FakeStripe
    readonly telegram: FakeTelegram
  }
>() {}

const site = Layer.scoped(
  Site,
  Effect.gen(function* () {
    const [names, attestations, cards, telegram] = yield* Effect.all(
      [startNameChain, startAttestationChain, makeFakeStripe, makeFakeTelegram],
      { concurrency: "unbounded" }
    )
    const { coinbase, eas } = attestations.verification
    const berth = yield* startBerth({
      databaseUrl: yield* migratedDatabase,
      environment: {
        ADMIN_EMAILS: [talker, pilot, guard].map(({ email }) => email).join(","),
        PLATFORM_A_API_URL: telegram.url.href,
        STRIPE_API_URL: cards.url.href,
        STRIPE_SECRET_KEY: cards.secretKey,
        STRIPE_WEBHOOK_SECRET: cards.webhookSecret,
        ETHEREUM_RPC_URL: names.url,
        BASE_RPC_URL: attestations.url,
        EAS_ADDRESS: eas.address,
        EAS_SCHEMAS: eas.schemas.join(","),
        EAS_ATTESTERS: eas.attesters.join(","),
        COINBASE_INDEXER: coinbase.indexer,
        COINBASE_SCHEMA: coinbase.schema,
        COINBASE_ATTESTER: coinbase.attester,
        LIMIT_REGISTER: "1000/1h",
        LIMIT_SIGN_IN: "1000/1h",
        // Nothing listens there: no test asks the world for its models.
        OPENROUTER_BASE_URL: "http://127.0.0.1:9/api/v1"
      }
    })
    // The name that the service knows itself by; a wallet's message names it.
    const url = berth.webUrl.replace("127.0.0.1", "localhost")
    return { url, logs: () => Effect.runSync(berth.logs), names, attestations, cards, telegram }
  })
)

// Longer than one step waits, so that a step that fails says so itself.
vi.setConfig({ testTimeout: 180_000 })

/** Administrators, who need no plan. */
const [talker, pilot, guard] = [makeAccount("talker"), makeAccount("pilot"), makeAccount("guard")]

const fillSignup = async (page: Page, { email, password }: TestAccount) => {
  await page.getByLabel("Email").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Create account" }).click()
}

/** Creates an account; ends at the path. */
const register = async (page: Page, account: TestAccount, path = "/dashboard") => {
  await page.goto(`/signup?callbackUrl=${encodeURIComponent(path)}`)
  await fillSignup(page, account)
  await atPath(page, path)
}

const signIn = async (page: Page, { email, password }: TestAccount) => {
  const form = page.locator("#sign-in")
  await form.getByLabel("Email").fill(email)
  await form.getByLabel("Password").fill(password)
  await form.getByRole("button").click()
}

const signOut = async (page: Page) => {
  await page.getByRole("button", { name: "Your account" }).click()
  await page.getByRole("menuitem", { name: "Sign out" }).click()
  await atPath(page, "/login")
}

/** Makes an agent by the form of the page; ends at its chat. */
const makeAgent = async (page: Page, name: string) => {
  await page.getByLabel("Name").fill(name)
  await page.getByRole("button", { name: "Create agent" }).click()
  await page.getByRole("region", { name: `Chat with ${name}` }).waitFor()
}

let isTalkerRegistered = false

const openChat = async (page: Page) => {
  if (isTalkerRegistered) {
    await page.goto("/login?callbackUrl=/dashboard")
    await signIn(page, talker)
    await page.getByRole("link", { name: "Cleo", exact: true }).click()
  } else {
    await register(page, talker, "/onboarding")
    await makeAgent(page, "Cleo")
  }
  isTalkerRegistered = true
  await page.getByLabel("Message", { exact: true }).waitFor()
}

const say = async (page: Page, message: string) => {
  await page.getByLabel("Message", { exact: true }).fill(message)
  await page.keyboard.press("Enter")
}

/** A script that lists tables with columns outside of their section. */
const findCutTables = `[...document.querySelectorAll(".section table")]
  .filter((table) => table.getBoundingClientRect().right > table.closest(".section").getBoundingClientRect().right)
  .map((table) => table.ariaLabel)`

/** Complete answers. */
const answersOn = (page: Page) => page.locator(".turn-agent", { has: page.locator(".answer-facts") })

/** The link of the mail to a new account, once it is in the log. */
const mailedLink = (logs: () => string, email: string) =>
  vi.waitFor(() => {
    const written = logs()
      .split("\n")
      .find((line) => line.includes("Mail written") && line.includes(email))
    return /"link":"([^"]+)"/.exec(written ?? "")?.[1] ?? assert.fail("no mail was written")
  }, 20_000)

const Conversation = Schema.Struct({
  session: Schema.Struct(
    { messages: Schema.Array(Schema.Record({ key: Schema.String, value: Schema.Unknown })) },
    { key: Schema.String, value: Schema.Unknown }
  )
})

/** Shows the page its conversation without the last reply, and the message before it changed, while `isWanted`. */
const rewriteLastMessage = (page: Page, change: object, isWanted = () => true) =>
  page.route(/\/api\/agent\?action=session&/, async (route) => {
    if (!isWanted()) return route.continue()
    const response = await route.fetch()
    const { session } = Schema.decodeUnknownSync(Schema.parseJson(Conversation))(await response.text())
    const messages = session.messages.slice(0, -1)
    return route.fulfill({
      response,
      json: { session: { ...session, messages: [...messages.slice(0, -1), { ...messages.at(-1), ...change }] } }
    })
  })

const pathOf = (page: Page) => {
  const { pathname, search } = new URL(page.url())
  return pathname + search
}
const atPath = (page: Page, path: string) => page.waitForURL((url) => url.pathname + url.search === path)

/** A visit that ends without a complaint of the browser. */
const visiting = (
  options: Parameters<Context.Tag.Service<Browser>["visit"]>[0],
  work: (visit: PageVisit & Context.Tag.Service<Site>) => Promise<void>
) =>
  Effect.gen(function* () {
    const site = yield* Site
    const browser = yield* Browser
    yield* browser.visit({ baseURL: site.url, ...options }, async (visit) => {
      await work({ ...visit, ...site })
      assert.deepStrictEqual(visit.complaints(), [])
    })
  })

const abroad = { viewport: { width: 1200, height: 900 }, timezoneId: "Asia/Tokyo" }

/** The sandbox repeats it. */
const hostileMarkdown = [
  "hostile",
  "[script](javascript:alert(1)) [data](data:text/html,x) [good](https://example.com/good)",
  "![picture](https://example.com/picture.png) raw <b>markup</b> <img src=x onerror=alert(2)>",
  "<script>alert(3)</script>",
  "| one | two |\n| --- | --- |\n| left | right |",
  "##### Deep heading\n\n- [x] finished task"
].join("\n\n")

describeWithTool(browserTool, "the pages, in a browser", () => {
  layer(Layer.merge(site, BrowserLayer.layer), { timeout: "180 seconds", excludeTestServices: true })((it) => {
    it.effect("The console leads a newcomer to a paid plan, an agent, a bot, a schedule, its cost and an API key", () =>
      visiting(abroad, async ({ cards, logs, page, telegram, url }) => {
        const newcomer = makeAccount("newcomer")
        await page.goto("/")
        await page.getByRole("link", { name: "Get started" }).click()
        await page.getByText(talker.email).waitFor()
        await fillSignup(page, { ...newcomer, password: "password" })
        await page.getByText("Must not be one of the most common passwords").waitFor()
        await fillSignup(page, newcomer)
        await atPath(page, "/onboarding")

        await page.getByText("Confirm your email address").waitFor()
        await page.goto(await mailedLink(logs, newcomer.email))
        await page.getByText("Your email address is confirmed.").waitFor()
        assert.strictEqual(await page.getByText("Confirm your email address").count(), 0)
        await page.reload()
        await page.getByRole("heading", { name: "Agents" }).waitFor()
        assert.strictEqual(await page.getByText("Your email address is confirmed.").count(), 0)

        await page.goto("/onboarding")
        await page.getByRole("link", { name: "Choose a plan" }).click()
        await page.getByRole("link", { name: "Subscribe to Solo" }).click()
        await page.getByRole("link", { name: "Back" }).click()
        await page.getByText("The checkout was canceled; nothing was charged.").waitFor()
        await page.getByRole("link", { name: "Subscribe to Solo" }).click()
        await page.getByRole("button", { name: "Pay" }).click()
        await page.getByText("Your plan becomes active in a moment").waitFor()
        const to = new URL("/api/webhooks/cardProcessor", url)
        await Effect.runPromise(cards.deliver(cards.events, { to }))
        // The page reloads by itself.
        await page.getByText("Your plan is active.").waitFor()
        await page.getByRole("button", { name: "Support Customer questions" }).click()
        await makeAgent(page, "Ada <b>&")
        await say(page, "Good morning")
        await answersOn(page).getByText("Good morning").waitFor()

        await page.getByRole("link", { name: "Channels" }).click()
        await page.getByRole("button", { name: "Connect Telegram" }).click()
        await page.getByLabel("Token").fill(telegram.token)
        await page.getByRole("button", { name: "Connect", exact: true }).click()
        await page.getByText(telegram.bot.username).waitFor()
        await page.getByText("Connected", { exact: true }).waitFor()
        const answering = page.getByLabel("Answer messages on this channel")
        const undo = page.getByRole("alert").filter({ hasText: "no longer" }).getByRole("button", { name: "Undo" })
        await answering.click()
        await undo.click()
        await page.getByText("Connected", { exact: true }).waitFor()

        await page.getByRole("link", { name: "Schedules" }).click()
        await page.getByRole("button", { name: "New schedule" }).first().click()
        await page.getByLabel("Message to the agent").fill("Write the summary")
        await page.getByText(/^Next runs: (.*,\s9:00\sAM · ){2}.*,\s9:00\sAM$/).waitFor()
        await page.getByRole("button", { name: "Create schedule" }).click()
        await page.getByText(/^Next: .*, 9:00 AM$/).waitFor()
        await page.getByText("Asia/Tokyo", { exact: true }).waitFor()
        await page.getByLabel("On", { exact: true }).press("Space")
        await page.getByText("Schedule paused.").waitFor()
        await page.getByText(/^Next: /).waitFor({ state: "detached" })
        await page.keyboard.press("Control+z")
        await page.getByText(/^Next: /).waitFor()
        await page.getByText("At 9:00 AM, Monday through Friday").first().waitFor()

        await page.getByText("No configured provider serves").waitFor()
        await page.getByRole("link", { name: "Agents", exact: true }).click()
        await page.getByText("Your plan allows 1 agent. Delete one or choose a larger plan").waitFor()
        assert.strictEqual(await page.getByRole("button", { name: "New agent" }).count(), 0)
        await page.getByRole("link", { name: "Choose a larger plan" }).click()
        await page
          .getByRole("article")
          .filter({ hasText: "Your plan" })
          .getByRole("heading", { name: "Solo" })
          .waitFor()
        await page.getByRole("button", { name: "Buy pack 50", exact: true }).waitFor()

        await page.getByRole("link", { name: "Usage" }).click()
        await page.getByRole("table").getByText("A message to an agent").waitFor()
        for (const chart of ["Units by agent", "Units by model"])
          await page.getByRole("heading", { name: chart }).waitFor()
        await page.getByText("Ada <b>&: 1 unit").waitFor({ state: "attached" })

        await page.getByText("No budgets").waitFor()
        await page.locator("input").and(page.getByLabel("Budget of")).click()
        await page.getByRole("option", { name: "Ada <b>&" }).click()
        await page
          .locator("input")
          .and(page.getByLabel(/^Units/))
          .fill("1")
        await page.keyboard.press("Enter")
        const budgets = page.getByRole("list", { name: "Budgets" })
        await budgets.getByText("Ada <b>&, per month").waitFor()
        await budgets.getByText("Used up. 1 of 1 used. Renews").waitFor()
        await page.goBack()
        await atPath(page, "/dashboard/plans")
        await page.goBack()
        await atPath(page, "/dashboard/agents")
        await page.goBack()
        await page.getByRole("link", { name: "Chat", exact: true }).click()
        await say(page, "One more")
        await page
          .getByText(/^The monthly budget of the agent agt_\w+, 1 unit, has 0 left/)
          .first()
          .waitFor()
        await page.goto("/dashboard/usage")
        await budgets.getByRole("button", { name: "Remove" }).click()
        await page.getByText("No budgets").waitFor()

        await page.goto("/dashboard/settings/keys")
        await page.getByRole("button", { name: "New API key" }).click()
        await page.getByLabel("Name").fill("<b>laptop</b>")
        await page.getByRole("button", { name: "Create key" }).click()
        const key = await page.getByLabel("Your new key").inputValue()
        assert.match(key, /^berth_[\w-]{43}$/)
        await page.getByRole("button", { name: "I have stored it" }).click()
        const keys = page.getByRole("list", { name: "API keys" })
        await keys.getByText("<b>laptop</b>").waitFor()
        assert.notInclude(await page.locator("body").innerText(), key)
        const [bearer, known] = [{ authorization: `Bearer ${key}` }, "/api/chat"]
        assert.strictEqual((await page.request.get(known, { headers: bearer })).status(), 200)
        await keys.getByRole("button", { name: "Revoke" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click()
        await keys.waitFor({ state: "detached" })
        assert.strictEqual((await page.request.get(known, { headers: bearer })).status(), 401)

        await page.getByRole("link", { name: "Files" }).click()
        await page.getByRole("button", { name: /^Get 50 GiB for £39/ }).click()
        await page.getByRole("button", { name: "Pay" }).click()
        await atPath(page, "/dashboard/files?checkout=done")
        await Effect.runPromise(cards.deliver(cards.events, { to }))
        await page.getByText("The upgrade becomes active in a moment.").waitFor()

        await signOut(page)
        await page.goto("/dashboard/files?error=x")
        assert.strictEqual(pathOf(page), "/login?callbackUrl=%2Fdashboard%2Ffiles%3Ferror%3Dx")
        await signIn(page, newcomer)
        await page.getByText("The checkout failed; nothing was charged.").waitFor()
        await page.getByText("50 GiB, upgraded").waitFor()
      })
    )

    it.effect("The console repeats a purchase whose answer was lost under its first key", () =>
      visiting({}, async ({ page }) => {
        await openChat(page)
        for (const path of ["/dashboard/plans", "/dashboard/usage"]) {
          const keys: Array<string | undefined> = []
          await page.route("**/api/billing", (route, request) => {
            if (request.method() !== "POST") return route.continue()
            keys.push(request.headers()["idempotency-key"])
            return route.abort("internetdisconnected")
          })
          await page.goto(path)
          if (path === "/dashboard/usage") await page.getByRole("link", { name: "Buy credits" }).click()
          await page.getByRole("button", { name: "Buy pack 50", exact: true }).click()
          const buy = page.getByRole("dialog").getByRole("button", { name: "Buy pack 50" })
          for (const attempt of [1, 2]) {
            await buy.click()
            await vi.waitFor(() => assert.lengthOf(keys, attempt))
          }
          assert.match(keys[0] ?? "", /^[\da-f-]{36}$/)
          assert.strictEqual(keys[1], keys[0], path)
          await page.unrouteAll()
        }
      })
    )

    it.effect("The console sends a form and a confirmation that are submitted twice at once only once", () =>
      visiting({}, async ({ page }) => {
        await openChat(page)
        await page.goto("/dashboard/settings/keys")
        await page.getByRole("button", { name: "New API key" }).click()
        await page.getByLabel("Name").fill("laptop")
        const sent: Array<string> = []
        page.on("request", (request) => {
          if (request.method() !== "GET") sent.push(`${request.method()} ${new URL(request.url()).pathname}`)
        })
        const submitTwice = () =>
          page.evaluate(`{ const form = document.querySelector("form"); form.requestSubmit(); form.requestSubmit() }`)
        await submitTwice()
        await page.getByRole("button", { name: "I have stored it" }).click()
        await page.getByRole("button", { name: "Revoke" }).click()
        await page.getByRole("dialog").getByText("laptop").waitFor()
        await submitTwice()
        await page.getByText("No API keys").waitFor()
        assert.deepStrictEqual(
          sent.map((line) => line.replace(/key_\w+/, "{id}")),
          ["POST /api/keys", "DELETE /api/keys/{id}"]
        )
      })
    )

    it.effect("The console shows the usage to a browser whose clock is ahead", () =>
      visiting({}, async ({ page }) => {
        await openChat(page)
        await page.clock.setSystemTime("2099-01-01T00:00:00Z")
        await page.goto("/dashboard/usage")
        await page.getByText("One credit is 100 units").waitFor()
      })
    )

    it.effect("The pages have the color scheme that was chosen in the console", () =>
      visiting({ colorScheme: "light" }, async ({ page }) => {
        await openChat(page)
        await page.getByRole("button", { name: "Switch to dark" }).click()
        await page.goto("/pricing")
        assert.strictEqual(await page.evaluate("getComputedStyle(document.documentElement).colorScheme"), "dark")
        assert.strictEqual(await page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(16, 18, 21)")
        assert.deepStrictEqual(await findAccessibilityViolations(page), [])
      })
    )

    it.effect("The pages sign in and out, name plan and outcomes, and explain failures, without a script", () =>
      Effect.gen(function* () {
        const account = makeAccount("plain")
        const stranger = makeAccount("unknown")
        const plain = { javaScriptEnabled: false, colorScheme: "dark", viewport: { width: 360, height: 740 } } as const
        yield* visiting(plain, async ({ cards, page }) => {
          await page.goto("/signup")
          await fillSignup(page, { ...account, password: "password" })
          await page.locator(".field-error", { hasText: "Must not be one of the most common passwords" }).waitFor()
          assert.strictEqual(await page.getByLabel("Email").inputValue(), account.email)
          assert.strictEqual(await page.evaluate("document.activeElement.name"), "password")
          await fillSignup(page, account)
          await atPath(page, "/onboarding")
          await page.getByRole("listitem").filter({ hasText: "Confirm your email address" }).waitFor()
          await page.getByRole("listitem").getByRole("link", { name: "Choose a plan" }).waitFor()
          await page.getByRole("link", { name: "Files" }).click()
          await page.getByText("256 MiB").waitFor()
          await page.getByRole("button", { name: /^Get 50 GiB for £39/ }).click()
          await page.getByRole("link", { name: "Back" }).click()
          await page.getByRole("alert").filter({ hasText: "The checkout was canceled; nothing was charged." }).waitFor()
          await page.getByRole("button", { name: /^Get 50 GiB for £39/ }).click()
          await page.getByRole("button", { name: "Pay" }).click()
          await page.getByText("The upgrade becomes active in a moment.").waitFor()
          assert.isNotEmpty(cards.events)
          for (const path of ["/dashboard", "/onboarding", "/dashboard/files", "/pricing"]) {
            await page.goto(path)
            assert.isAtMost(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, path)
          }
          await page.getByRole("button", { name: "Sign out" }).click()
          await atPath(page, "/login")
          await page.getByRole("link", { name: "Forgot your password?" }).click()
          await page.getByLabel("Account email").fill(stranger.email)
          await page.getByRole("button", { name: "Send reset link" }).click()
          await page.getByRole("status").filter({ hasText: "we sent it a link for a new password" }).waitFor()
          for (const path of ["/", "/login", "/signup", "/forgot-password", "/pricing", "/reset-password?token=x"]) {
            await page.goto(path)
            assert.isAtMost(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, path)
          }
        })
        // Axe needs its own scripts.
        yield* visiting({ ...plain, javaScriptEnabled: true }, async ({ page }) => {
          await page.route("**/assets/console/*.js", (route) =>
            route.fulfill({ contentType: "text/javascript", body: "" })
          )
          await page.goto("/login?callbackUrl=/dashboard")
          await signIn(page, account)
          for (const path of ["/dashboard", "/onboarding", "/dashboard/files"]) {
            await page.goto(path)
            await page.locator(".plain h1").waitFor()
            assert.deepStrictEqual(await findAccessibilityViolations(page), [], path)
          }
        })
        yield* visiting({ javaScriptEnabled: false, colorScheme: "dark" }, async ({ page }) => {
          await page.goto("/login?callbackUrl=/dashboard?notice=credits_purchased")
          await signIn(page, { ...account, password: "something else" })
          await page.getByRole("alert").waitFor()
          assert.strictEqual(await page.getByRole("alert").textContent(), "Email or password is incorrect.")
          await signIn(page, account)
          await page.getByText("The credits will be on your account in a moment.").waitFor()
          const content = await page.locator("main").innerText()
          for (const fact of ["You have no agents yet.", "Free", "256 MiB", account.email])
            assert.include(content, fact)
          await page.getByRole("link", { name: "Choose a plan" }).click()
          await atPath(page, "/pricing")
          await page.getByRole("button", { name: "Sign out" }).click()
          await atPath(page, "/login")
          await page.goto("/dashboard")
          assert.strictEqual(pathOf(page), "/login?callbackUrl=%2Fdashboard")
        })
      })
    )

    for (const how of ["announced", "window.ethereum"] as const) {
      it.effect(`The pages sign in with a wallet that is ${how}`, () =>
        visiting({}, async ({ page }) => {
          const { address } = await injectWallet(page, how)
          await page.goto("/login?callbackUrl=/dashboard/settings/wallets")
          await page.getByRole("button", { name: /^Continue with/ }).click()
          await atPath(page, "/dashboard/settings/wallets")
          await page.getByText(address).waitFor()
        })
      )
    }

    it.effect("The pages verify an agent by every kind of proof, and explain rejections", () =>
      visiting({}, async ({ attestations, context, names, page }) => {
        const wallet = await injectWallet(page, "announced")
        const devTools = await context.newCDPSession(page)
        await devTools.send("WebAuthn.enable")
        await devTools.send("WebAuthn.addVirtualAuthenticator", {
          options: {
            protocol: "ctap2",
            transport: "internal",
            hasResidentKey: true,
            hasUserVerification: true,
            isUserVerified: true,
            automaticPresenceSimulation: true
          }
        })
        await openChat(page)
        await page.getByRole("link", { name: "Verification" }).click()
        const [unverified, method] = [page.locator("main").getByText("Not verified"), page.locator("dl.facts")]
        await unverified.waitFor()

        const uidField = page.getByLabel("Attestation UID")
        await uidField.fill("0x12")
        await uidField.press("Enter")
        await page.getByText("Must be 0x and 64 hex digits").first().waitFor()
        assert.strictEqual(await uidField.getAttribute("aria-invalid"), "true")
        assert.strictEqual(await page.evaluate("document.activeElement.name"), "attestationUid")
        await page
          .getByRole("alert")
          .filter({ hasText: "Correct the marked fields." })
          .getByText(/^[0-9a-f]{32}$/)
          .waitFor()

        const registration = page.getByRole("button", { name: "Register a passkey" })
        const passkey = page.getByRole("button", { name: "Verify with a passkey" })
        await registration.click()
        await page.getByText("Passkey registered.").waitFor()
        await registration.click()
        await page.getByText("This passkey is registered already.").waitFor()
        await passkey.click()
        await method.getByText("Passkey").waitFor()
        assert.deepStrictEqual(await findAccessibilityViolations(page), [])
        await page.getByRole("button", { name: "Remove verification" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Remove verification" }).click()
        await unverified.waitFor()
        await passkey.click()
        await page.getByText("The authenticator is not registered for this agent.").waitFor()

        const signFor = (name: string) =>
          page
            .locator("section", { has: page.getByRole("heading", { name }) })
            .getByRole("button", { name: "Sign with Test wallet" })
        await signFor("ENS name").click()
        await page.getByText("The wallet has no primary ENS name in normal form.").waitFor()
        await Effect.runPromise(
          Effect.zipRight(
            names.setPrimaryName(wallet.address, "cleo.eth"),
            names.setAddress("cleo.eth", wallet.address)
          )
        )
        await signFor("ENS name").click()
        await method.getByText("ENS name").waitFor()
        await method.getByText("cleo.eth").waitFor()
        await method.getByText(wallet.address).waitFor()

        const verification = page.url()
        await signFor("Coinbase account").click()
        await page.getByText("The wallet is not linked to your account.").waitFor()
        await page.goto("/dashboard/settings/wallets")
        await page.getByRole("button", { name: "Link Test wallet" }).click()
        await page.locator("code", { hasText: wallet.address }).waitFor()
        await page.goto(verification)
        await signFor("Coinbase account").click()
        await page.getByText("There is no such attestation.").waitFor()
        const uid = await Effect.runPromise(
          Effect.tap(attestations.attest(wallet.address), (made) => attestations.index(wallet.address, made))
        )
        await signFor("Coinbase account").click()
        await method.getByText("Coinbase account").waitFor()
        await page.getByLabel("Attestation UID").fill(uid)
        await page.getByRole("button", { name: "Verify", exact: true }).click()
        await method.locator("dd", { hasText: /^Attestation$/ }).waitFor()
        await method.getByText(uid).waitFor()
        assert.isAtMost(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
        await page.goto("/dashboard/settings/wallets")
        await page.getByRole("button", { name: "Unlink" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Unlink" }).click()
        await page.getByText("No wallets").waitFor()
      })
    )

    it.effect("The console changes an account, shows any text as text, and deletes the account", () =>
      visiting({ viewport: { width: 1200, height: 900 } }, async ({ page }) => {
        const account = makeAccount("change")
        const changed = { ...account, password: "another-password-7" }
        const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>&amp;'`
        await register(page, account, "/dashboard/settings")
        await page.getByRole("button", { name: "Send a new link" }).click()
        await page.getByText("We sent a link to your email address, unless").waitFor()
        await page.getByLabel("Name").fill(hostile)
        await page.getByRole("button", { name: "Save changes" }).click()
        await page.getByText("Saved", { exact: true }).waitFor()
        const news = page.getByLabel("Product news")
        const saving = page.waitForResponse((answer) => answer.request().method() === "PATCH")
        await news.click()
        await saving
        await page.reload()
        assert.strictEqual(await page.getByLabel("Name").inputValue(), hostile)
        await news.waitFor()
        assert.isTrue(await news.isChecked())
        assert.strictEqual(await page.locator("main img, main script").count(), 0)
        await page.getByLabel("Current password").fill(account.password)
        await page.getByLabel("New password").fill("short")
        await page.getByRole("button", { name: "Change password" }).click()
        await page.getByText("Must have at least 8 characters").waitFor()
        await page.getByText("Correct the marked fields.").waitFor()
        await page.getByLabel("New password").fill(changed.password)
        await page.getByRole("button", { name: "Change password" }).click()
        await page.getByText("Your password is changed").waitFor()
        await signOut(page)
        await signIn(page, changed)
        await atPath(page, "/dashboard")

        const session = { createdAt: "2026-01-01T00:00:00.000Z", lastSeenAt: "2026-01-02T00:00:00.000Z" }
        let isEnded = false
        await page.route("**/api/auth/sessions", (route) =>
          route.fulfill({
            json: {
              sessions: isEnded
                ? []
                : [{ ...session, id: "ses_2", userAgent: hostile, address: "192.0.2.1", current: false }]
            }
          })
        )
        await page.route("**/api/auth/sessions/ses_2", (route) => {
          isEnded = true
          return route.fulfill({ json: { success: true } })
        })
        await page.goto("/dashboard/settings/sessions")
        await page.getByText(hostile).waitFor()
        await page.getByRole("button", { name: "End", exact: true }).click()
        await page.getByRole("dialog").getByRole("button", { name: "End" }).click()
        await page.locator("main").getByText(hostile).waitFor({ state: "detached" })

        await page.goto("/dashboard/settings/deletion")
        await page.getByLabel("Password", { exact: true }).fill(changed.password)
        await page.getByRole("button", { name: "Delete account" }).click()
        const dialog = page.getByRole("dialog")
        await dialog.getByRole("textbox").fill(account.email)
        await dialog.getByRole("button", { name: "Delete account" }).click()
        await atPath(page, "/login")
        await signIn(page, changed)
        await page.getByText("Email or password is incorrect.").waitFor()
      })
    )

    it.effect("The pages explain failures in words, and repeat no text of an address", () =>
      visiting({}, async ({ page }) => {
        await page.goto("/login?error=oauth_not_configured")
        assert.include(await page.getByRole("alert").textContent(), "not configured")
        await page.goto(`/login?error=${encodeURIComponent("<script>alert(1)</script>")}&callbackUrl=//evil.example/`)
        assert.strictEqual(await page.getByRole("alert").textContent(), "Sign-in failed. Try again.")
        assert.strictEqual(await page.locator("[name=callbackUrl]").inputValue(), "/dashboard")
        const account = makeAccount("twice")
        await register(page, account)
        await signOut(page)
        await page.getByRole("link", { name: "Create an account" }).click()
        await fillSignup(page, account)
        await page.locator("#register-status[data-kind=bad]").waitFor()
        const email = page.getByLabel("Email")
        assert.strictEqual(await email.getAttribute("aria-invalid"), "true")
        const description = page.locator(`#${await email.getAttribute("aria-describedby")}`)
        assert.match((await description.textContent()) ?? "", /email address exists already/)
      })
    )

    it.effect("The console keeps a refused text, resumes a broken answer, and sends a failed message again", () =>
      visiting({}, async ({ page }) => {
        await openChat(page)
        const message = page.getByLabel("Message", { exact: true })
        const failure = page.locator(".composer-failure")
        for (const status of [402, 429, "abort"] as const) {
          await page.route("**/api/agent", (route) =>
            status === "abort"
              ? route.abort("internetdisconnected")
              : route.fulfill({ status, json: { error: "refused", message: `Refused with ${status}.` } })
          )
          await say(page, "Keep me")
          await failure.getByText(status === "abort" ? "cannot be reached" : `Refused with ${status}.`).waitFor()
          assert.strictEqual(await message.inputValue(), "Keep me")
          await page.unroute("**/api/agent")
        }
        const text = "Tell a story of the sea, word by word"
        await say(page, text)
        const answer = answersOn(page).last()
        await answer.getByText("word by word").waitFor()
        // As the conversation was while the answer ran; its events are still kept.
        let streams = 0
        await rewriteLastMessage(page, { status: "pending" }, () => streams < 2)
        await page.route("**/api/agent/messages/*/events", async (route) => {
          streams += 1
          if (streams > 1) return route.continue()
          const response = await route.fetch()
          const [first, second] = (await response.text()).split("\n\n")
          return route.fulfill({ response, body: `${first}\n\n${second}\n\nevent: del` })
        })
        await page.reload()
        await answer.getByText("word by word").waitFor()
        assert.strictEqual(await page.locator(".turn-user", { hasText: text }).count(), 1)
        assert.isAtLeast(streams, 2)
        await page.unrouteAll()

        await rewriteLastMessage(page, { status: "failed", failure: "the model refused" })
        await page.reload()
        await page.getByText("The message was not answered: the model refused").waitFor()
        assert.deepStrictEqual(await findAccessibilityViolations(page), [])
        await page.unrouteAll()
        await page.getByRole("button", { name: "Retry" }).click()
        await answersOn(page).last().getByText(text).waitFor()

        // The browser logs a failed download as an error, so the file fails when it runs.
        await page.route(
          "**/MemoryTab-*.js",
          (route) => route.fulfill({ contentType: "text/javascript", body: "throw 1" }),
          {
            times: 1
          }
        )
        await page.getByRole("link", { name: "Memory" }).click()
        await page.getByRole("heading", { name: "Recent messages" }).waitFor()
      })
    )

    it.effect("The console shows hostile Markdown as text, and every page on a phone, in the dark and zoomed", () =>
      visiting({ viewport: { width: 1200, height: 900 } }, async ({ page }) => {
        await register(page, pilot, "/onboarding")
        await makeAgent(page, "Ada <b>&")
        const sending = page.waitForResponse((answer) => {
          const request = answer.request()
          return request.method() === "POST" && request.headers()["accept"] === "text/event-stream"
        })
        await page.getByLabel("Message", { exact: true }).fill(hostileMarkdown)
        await page.keyboard.press("Enter")
        assert.include((await sending).headers()["content-type"] ?? "", "text/event-stream")
        const answer = answersOn(page)
        await answer.getByText("sandbox/echo · sandbox").waitFor()
        const findLinks = async () =>
          Promise.all((await answer.locator("a").all()).map((link) => link.getAttribute("href")))
        const links = ["https://example.com/good", "https://example.com/picture.png"]
        assert.deepStrictEqual(await findLinks(), links)
        assert.strictEqual(await answer.locator("img, script, b").count(), 0)
        assert.deepStrictEqual(await answer.locator("td").allTextContents(), ["left", "right"])
        await page.reload()
        await answer.getByText("sandbox/echo · sandbox").waitFor()
        assert.deepStrictEqual(await findLinks(), links)
        const chat = pathOf(page).split("?", 1)[0] ?? ""

        const [agent, account, admin] = [
          chat.replace(/chat$/, ""),
          "/dashboard/settings/",
          "/dashboard/administration/"
        ]
        const pages = [
          ["/dashboard", "script data good"],
          ["/onboarding", "You already have an agent"],
          ["/dashboard/files", "Account storage"],
          ["/dashboard/plans", "Subscribe to Solo"],
          [chat, "sandbox/echo"],
          ["/dashboard/agents/agt_none/chat", "Agent not found"],
          [`${agent}settings`, "Instructions"],
          [`${agent}skills`, "No skills of your own"],
          [`${agent}channels`, "Connect Telegram"],
          [`${agent}schedules`, "No schedules yet"],
          [`${agent}memory`, "Recent messages"],
          [`${agent}logs`, "newest first"],
          [`${agent}stats`, "1 in the last hour"],
          [`${agent}verification`, "Not verified"],
          [`${agent}a2a`, "Allowed senders"],
          [`${agent}danger`, "Delete agent"],
          ["/dashboard/usage", "Amount"],
          [`${account}profile`, "Current password"],
          [`${account}keys`, "No API keys"],
          [`${account}webhooks`, "No webhook endpoints"],
          [`${account}sessions`, "This session"],
          [`${account}wallets`, "No wallets"],
          [`${account}deletion`, "remaining credits"],
          [`${admin}users`, pilot.email],
          [`${admin}instances`, pilot.email],
          [`${admin}providers`, "Sandbox"],
          [`${admin}queues`, "No dead letters"],
          [`${admin}audit`, "Every action of an administrator"]
        ] as const
        // A window of 1,200 pixels at 200 % has 600.
        const looks = [
          ["light", { width: 600, height: 450 }],
          ["dark", { width: 360, height: 740 }]
        ] as const
        // A history with several pages.
        await page.route("**/api/billing/history?*", async (route) => {
          const response = await route.fetch()
          return route.fulfill({ response, body: (await response.text()).replace(/"total":\d+/, '"total":40') })
        })
        for (const [path, landmark] of pages) {
          await page.goto(path)
          await page.locator("main").getByText(landmark).first().waitFor()
          for (const [colorScheme, size] of looks) {
            await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
            await page.setViewportSize(size)
            assert.deepStrictEqual(await findAccessibilityViolations(page), [], `${path} ${colorScheme}`)
            assert.isAtMost(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, path)
            assert.deepStrictEqual(await page.evaluate(findCutTables), [], path)
          }
        }
        await page.goto(`${admin}instances`)
        const actions = page.getByRole("row").filter({ hasText: pilot.email }).getByRole("button")
        await actions.getByText("Stop").waitFor()
        assert.deepStrictEqual(await actions.allTextContents(), [pilot.email, "Stop", "Restart", "Repair"])
      })
    )

    it.effect("The console lets an administrator suspend an account, whose next page is the sign-in", () =>
      Effect.gen(function* () {
        const account = makeAccount("suspended")
        yield* visiting({ viewport: { width: 1200, height: 900 } }, async ({ page: owned }) => {
          await register(owned, account, "/dashboard/usage")
          const browser = owned.context().browser()
          const context = await browser?.newContext({ baseURL: new URL(owned.url()).origin })
          const page = await context?.newPage()
          if (page === undefined) return assert.fail("no second window")
          await register(page, guard, "/dashboard/administration/users")
          await page.getByLabel("Start of an email address").fill(account.email)
          const row = page.getByRole("row", { name: account.email })
          await row.getByRole("button", { name: account.email }).click()
          const details = page.getByRole("dialog", { name: account.email })
          await details.getByText("0 of 50").waitFor()
          assert.deepStrictEqual(await findAccessibilityViolations(page), [])
          await page.keyboard.press("Escape")
          await details.waitFor({ state: "detached" })
          await row.getByRole("button", { name: "Suspend", exact: true }).click()
          await page.getByRole("dialog").getByLabel("Reason").fill("abuse")
          await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click()
          await row.getByText("Suspended", { exact: true }).waitFor()
          await context?.close()
          await owned.getByRole("link", { name: "Settings" }).first().click()
          await owned.waitForURL((at) => at.pathname === "/login")
          await signIn(owned, account)
          await owned.getByRole("alert").waitFor()
        })
      })
    )

    it.effect("The pages show the API reference under its content security policy", () =>
      Effect.gen(function* () {
        const { url } = yield* Site
        const browser = yield* Browser
        yield* browser.visit({ baseURL: url }, async ({ page }) => {
          await page.goto("/docs")
          await page.getByRole("heading", { name: "Register an account" }).waitFor()
        })
      })
    )

    it.effect("The pages answer an address that names nothing with a page", () =>
      Effect.gen(function* () {
        const { url } = yield* Site
        const browser = yield* Browser
        yield* browser.visit({ baseURL: url }, async ({ page }) => {
          const answer = await page.goto("/no/such/page")
          assert.strictEqual(answer?.status(), 404)
          assert.strictEqual(await page.getByRole("heading", { name: "Not found" }).count(), 1)
        })
      })
    )

    const looks = [
      { colorScheme: "light", reducedMotion: "reduce", viewport: { width: 1200, height: 900 } },
      { colorScheme: "dark", reducedMotion: "reduce", viewport: { width: 360, height: 740 } }
    ] as const
    for (const look of looks) {
      it.effect(
        `The pages have no accessibility violation and fit their window, ${look.colorScheme} and ${look.viewport.width} wide`,
        () =>
          visiting(look, async ({ page }) => {
            const check = async (path: string) => {
              await page.goto(path)
              assert.strictEqual(pathOf(page), path)
              await page.evaluate("document.querySelectorAll('details').forEach((folded) => (folded.open = true))")
              assert.deepStrictEqual(await findAccessibilityViolations(page), [], path)
              assert.isAtMost(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, path)
            }
            for (const path of [
              "/",
              "/login",
              "/login?error=access_denied",
              "/signup",
              "/forgot-password",
              "/pricing",
              "/reset-password?token=x"
            ])
              await check(path)
          })
      )
    }

    it.effect("The page of an instance's subdomain takes over the session of a visitor, who may sign in first", () =>
      Effect.gen(function* () {
        let url = ""
        yield* visiting({}, async ({ page }) => {
          await openChat(page)
          await page.goto("/dashboard/files")
          url = (await page.getByRole("link", { name: /agents\.localhost/ }).getAttribute("href")) ?? ""
          await page.goto(url)
          await page.waitForURL(`${url.replace(/\/$/, "")}/`)
          await page.getByRole("link", { name: "Chat with Cleo" }).click()
          await page.getByLabel("Message", { exact: true }).waitFor()
        })
        yield* visiting({}, async ({ context, page }) => {
          await page.goto(url)
          assert.strictEqual(new URL(page.url()).pathname, "/login")
          await signIn(page, talker)
          await page.getByRole("heading", { name: "Your instance" }).waitFor()
          const cookies = await context.cookies(url)
          assert.deepStrictEqual(
            cookies.map(({ domain }) => domain),
            [new URL(url).hostname]
          )
        })
      })
    )
  })
})
