import { assert, layer, vi } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
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
  }
>() {}

const site = Layer.scoped(
  Site,
  Effect.gen(function* () {
    const [names, attestations] = yield* Effect.all([startNameChain, startAttestationChain], { concurrency: 2 })
    const { coinbase, eas } = attestations.verification
    const berth = yield* startBerth({
      databaseUrl: yield* migratedDatabase,
      environment: {
        ADMIN_EMAILS: [owner, talker, pilot].map(({ email }) => email).join(","),
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
    return { url, logs: () => Effect.runSync(berth.logs), names, attestations }
  })
)

// Longer than one step waits, so that a step that fails says so itself.
vi.setConfig({ testTimeout: 180_000 })

const firefoxOnMac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:128.0) Gecko/20100101 Firefox/128.0"

/** Administrators, who need no plan. */
const [owner, talker, pilot] = [makeAccount("owner"), makeAccount("talker"), makeAccount("pilot")]

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

/** Makes the first agent, on its page, and waits until it can be talked to. */
const makeAgent = async (page: Page, name: string) => {
  await page.getByLabel("Name").fill(name)
  await page.getByRole("button", { name: "Create agent" }).click()
  await page.getByRole("heading", { name: `Chat with ${name}` }).waitFor()
}

let isTalkerRegistered = false

/** The chat of the talker's agent. A wait that fails does so soon. */
const openChat = async (page: Page) => {
  page.setDefaultTimeout(20_000)
  if (isTalkerRegistered) {
    await page.goto("/login?callbackUrl=/dashboard")
    await signIn(page, talker)
  } else {
    await register(page, talker, "/onboarding")
    await makeAgent(page, "Cleo")
    await page.goto("/dashboard")
  }
  isTalkerRegistered = true
  await page.getByRole("link", { name: "Chat with Cleo" }).click()
  await page.locator("#chat-form button:enabled").waitFor()
}

const say = async (page: Page, message: string) => {
  await page.getByLabel("Message").fill(message)
  await page.getByRole("button", { name: "Send" }).click()
}

const Conversation = Schema.Struct({
  session: Schema.Struct(
    { messages: Schema.Array(Schema.Record({ key: Schema.String, value: Schema.Unknown })) },
    { key: Schema.String, value: Schema.Unknown }
  )
})

/** Shows the page its conversation without the last reply, and the message before it changed. */
const rewriteLastMessage = (page: Page, change: object) =>
  page.route(/\/api\/agent\?action=session&/, async (route) => {
    const response = await route.fetch()
    const { session } = Schema.decodeUnknownSync(Schema.parseJson(Conversation))(await response.text())
    const messages = session.messages.slice(0, -1)
    return route.fulfill({
      response,
      json: { session: { ...session, messages: [...messages.slice(0, -1), { ...messages.at(-1), ...change }] } }
    })
  })

const decodeAgents = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Struct({ agents: Schema.NonEmptyArray(Schema.Struct({ id: Schema.String })) }))
)
const decodeDetail = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Struct({ agent: Schema.Struct({ url: Schema.String }) }))
)

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

/** The sandbox repeats it. */
const hostileMarkdown = [
  "hostile",
  "[script](javascript:alert(1)) [data](data:text/html,x) [good](https://example.com/good)",
  "![picture](https://example.com/picture.png) raw <b>markup</b> <img src=x onerror=alert(2)>",
  "<script>alert(3)</script>",
  "| one | two |\n| --- | --- |\n| left | right |"
].join("\n\n")

/** Counts the pieces of text that come into the conversation from now on, in the page. */
const countPieces = readFileSync(new URL("CountDeltas.page.mjs", import.meta.url), "utf8")

describeWithTool(browserTool, "the pages, in a browser", () => {
  layer(Layer.merge(site, BrowserLayer.layer), { timeout: "180 seconds", excludeTestServices: true })((it) => {
    it.effect("The pages lead a newcomer from the front page to the first reply, and out", () =>
      visiting({}, async ({ logs, page }) => {
        const newcomer = makeAccount("newcomer")
        await page.goto("/")
        await page.getByRole("link", { name: "Get started" }).click()
        await page.getByText(owner.email).waitFor()
        await fillSignup(page, { ...newcomer, password: "password" })
        await page.getByText("Must not be one of the most common passwords").waitFor()
        await fillSignup(page, newcomer)
        await atPath(page, "/onboarding")

        await page.getByRole("link", { name: "Choose a plan" }).click()
        await page.getByRole("button", { name: "Choose Solo" }).click()
        await atPath(page, "/onboarding")
        await makeAgent(page, "Ada <b>&")
        await page.evaluate(countPieces)
        await page.getByLabel("Message").fill("Good morning, piece by piece")
        await page.keyboard.press("Enter")
        const answer = page.locator(".bubble.agent:not([aria-busy])")
        await answer.waitFor()
        assert.include(await answer.locator("p").textContent(), "Good morning, piece by piece")
        assert.isAbove(Number(await page.evaluate("pieces")), 3)

        await page.getByRole("link", { name: "Go to the dashboard" }).click()
        const confirmation = page.getByRole("heading", { name: "Confirm your email address" })
        await confirmation.waitFor()
        const written = logs()
          .split("\n")
          .find((line) => line.includes("Mail written") && line.includes(newcomer.email))
        await page.goto(/"link":"([^"]+)"/.exec(written ?? "")?.[1] ?? "/no-link-in-the-log")
        await page.getByText("Your email address is confirmed.").waitFor()
        assert.strictEqual(await confirmation.count(), 0)
        const row = page.locator("[data-agent]")
        assert.strictEqual(await row.locator("strong").textContent(), "Ada <b>&")
        await row.getByText("Running", { exact: true }).waitFor()
        await page.getByRole("button", { name: "Stop" }).click()
        await row.getByText("Stopped", { exact: true }).waitFor()
        await page.getByRole("button", { name: "Start", exact: true }).click()
        await row.getByText("Running", { exact: true }).waitFor()

        await page.getByRole("link", { name: "Chat with Ada <b>&" }).click()
        await page.locator(".bubble.user", { hasText: "Good morning, piece by piece" }).waitFor()
        await page.getByLabel("Message").fill("And again")
        await page.getByRole("button", { name: "Send" }).click()
        await page.locator(".bubble.agent:not([aria-busy])", { hasText: "And again" }).waitFor()
        assert.deepStrictEqual(await findAccessibilityViolations(page), [])

        await page.getByRole("button", { name: "Sign out" }).click()
        await atPath(page, "/login")
        await page.goto("/dashboard/files?error=x")
        assert.strictEqual(pathOf(page), "/login?callbackUrl=%2Fdashboard%2Ffiles%3Ferror%3Dx")
        await signIn(page, newcomer)
        await atPath(page, "/dashboard/files?error=x")
      })
    )

    it.effect("The pages sign in and out, and say what is wrong, without a script", () =>
      Effect.gen(function* () {
        const account = makeAccount("plain")
        yield* visiting({}, async ({ page }) => {
          await register(page, account)
        })
        yield* visiting({ javaScriptEnabled: false }, async ({ page }) => {
          await page.goto("/login?callbackUrl=/pricing")
          await signIn(page, { ...account, password: "something else" })
          await page.getByRole("alert").waitFor()
          assert.strictEqual(await page.getByRole("alert").textContent(), "Email or password is incorrect.")
          await signIn(page, account)
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
          await page.goto("/login?callbackUrl=/dashboard/files")
          await page.getByRole("button", { name: /^Continue with/ }).click()
          await atPath(page, "/dashboard/files")
          await page.goto("/dashboard")
          await page.locator(`[data-unlink="${address}"]`).waitFor()
        })
      )
    }

    it.effect("The pages link a wallet to an account, and let it go again", () =>
      visiting({}, async ({ page }) => {
        const { address } = await injectWallet(page, "announced")
        await register(page, makeAccount("linking"))
        await page.getByRole("button", { name: "Link Test wallet" }).click()
        await page.getByRole("button", { name: `Unlink ${address}` }).click()
        await page.getByText("No wallets are linked to this account.").waitFor()
      })
    )

    it.effect("The pages verify an agent by every kind of proof, and say why they do not", () =>
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
        await page.goto("/dashboard")
        await page.getByRole("link", { name: "Verify Cleo" }).click()
        await page.getByRole("heading", { name: "Verification of Cleo" }).waitFor()
        await page.getByText("This agent is not verified.").waitFor()

        await page.getByLabel("UID of the attestation").fill("0x12")
        await page.getByRole("button", { name: "Verify", exact: true }).click()
        await page.getByText("Must be 0x and 64 hex digits").waitFor()

        const registration = page.getByRole("button", { name: "Register a passkey" })
        const passkey = page.getByRole("button", { name: "Verify with a passkey" })
        await registration.click()
        await page.getByText("The passkey is registered.").waitFor()
        await registration.click()
        await page.getByText("This passkey is registered already.").waitFor()
        await passkey.click()
        await page.getByText("This agent is verified by a passkey.").waitFor()
        assert.deepStrictEqual(await findAccessibilityViolations(page), [])
        await page.getByRole("button", { name: "Remove the verification" }).click()
        await page.getByText("This agent is not verified.").waitFor()
        await passkey.click()
        await page.getByText("The authenticator is not registered for this agent.").waitFor()

        const signFor = (name: string) =>
          page.getByRole("region", { name }).getByRole("button", { name: "Sign with Test wallet" })
        await signFor("ENS name").click()
        await page.getByText("The wallet has no primary ENS name in normal form.").waitFor()
        await Effect.runPromise(
          Effect.zipRight(
            names.setPrimaryName(wallet.address, "cleo.eth"),
            names.setAddress("cleo.eth", wallet.address)
          )
        )
        await signFor("ENS name").click()
        await page.getByText("This agent is verified by an ENS name.").waitFor()
        await page.getByText("cleo.eth").waitFor()

        const verification = page.url()
        await signFor("Coinbase account").click()
        await page.getByText("The wallet is not linked to your account.").waitFor()
        await page.goto("/dashboard")
        await page.getByRole("button", { name: "Link Test wallet" }).click()
        await page.getByRole("button", { name: `Unlink ${wallet.address}` }).waitFor()
        await page.goto(verification)
        await signFor("Coinbase account").click()
        await page.getByText("There is no such attestation.").waitFor()
        const uid = await Effect.runPromise(
          Effect.tap(attestations.attest(wallet.address), (made) => attestations.index(wallet.address, made))
        )
        await signFor("Coinbase account").click()
        await page.getByText("This agent is verified by a Coinbase account.").waitFor()
        await page.getByLabel("UID of the attestation").fill(uid)
        await page.getByRole("button", { name: "Verify", exact: true }).click()
        await page.getByText("This agent is verified by an attestation.").waitFor()
        assert.isAtMost(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
      })
    )

    it.effect("The pages change an account, and show any text as text", () =>
      visiting({}, async ({ page }) => {
        const account = makeAccount("change")
        const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>&amp;'`
        await register(page, account)
        await page.getByRole("button", { name: "Email a new link" }).click()
        await page.getByText("A link is on its way").waitFor()
        await page.getByText("Change name or email").click()
        await page.locator("#profile-form").getByLabel("Name").fill(hostile)
        await page.getByRole("button", { name: "Save" }).click()
        await page.getByText("Saved.").waitFor()
        await page.getByLabel("Product news").check()
        await page.locator("#notifications-status", { hasText: "Saved." }).waitFor()
        await page.reload()
        assert.strictEqual(await page.locator("#account-name").textContent(), hostile)
        assert.strictEqual(await page.locator("#profile-form").getByLabel("Name").inputValue(), hostile)
        assert.isTrue(await page.getByLabel("Product news").isChecked())
        assert.strictEqual(await page.locator("main img, main script").count(), 0)

        await page.getByText("Change password").first().click()
        await page.getByLabel("Current password").fill(account.password)
        await page.getByLabel("New password").fill("another-password-7")
        await page.getByRole("button", { name: "Change password" }).click()
        await page.getByText("Your password is changed").waitFor()
        await page.getByRole("button", { name: "Sign out" }).click()
        await signIn(page, { ...account, password: "another-password-7" })
        await atPath(page, "/dashboard")
        // Without a plan the form is replaced by a notice.
        assert.strictEqual(await page.getByText("You need a plan to create an agent.").count(), 1)
      })
    )

    it.effect("The pages say what is wrong in words, and nothing that an address says", () =>
      visiting({}, async ({ page }) => {
        await page.goto("/login?error=oauth_not_configured")
        assert.include(await page.getByRole("alert").textContent(), "not configured")
        await page.goto(`/login?error=${encodeURIComponent("<script>alert(1)</script>")}&callbackUrl=//evil.example/`)
        assert.strictEqual(await page.getByRole("alert").textContent(), "Sign-in failed. Try again.")
        assert.strictEqual(await page.locator("[name=callbackUrl]").inputValue(), "/dashboard")
        const account = makeAccount("twice")
        await register(page, account)
        await page.getByRole("button", { name: "Sign out" }).click()
        await page.getByRole("link", { name: "Create an account" }).click()
        await fillSignup(page, account)
        await page.locator("#register-status[data-kind=bad]").waitFor()
        const email = page.getByLabel("Email")
        assert.strictEqual(await email.getAttribute("aria-invalid"), "true")
        const told = page.locator(`#${await email.getAttribute("aria-describedby")}`)
        assert.match((await told.textContent()) ?? "", /email address exists already/)
      })
    )

    it.effect("The pages ask on where an answer broke off", () =>
      visiting({}, async ({ page }) => {
        await page.goto("/onboarding")
        assert.strictEqual(pathOf(page), "/login?callbackUrl=%2Fonboarding")
        await page.getByRole("link", { name: "Create an account" }).click()
        await fillSignup(page, owner)
        await atPath(page, "/onboarding")
        await page.route("**/api/agents/provision", (route) =>
          route.fulfill({ status: 402, json: { code: "subscription_required", message: "Subscribe first." } })
        )
        await page.getByLabel("Name").fill("Bea")
        await page.getByRole("button", { name: "Create agent" }).click()
        await atPath(page, "/pricing")
        await page.unroute("**/api/agents/provision")
        await page.goto("/onboarding")
        await makeAgent(page, "Bea")
        const resumed: Array<string> = []
        await page.route("**/api/agent/messages/*/events", (route) => {
          resumed.push(route.request().headers()["last-event-id"] ?? "")
          return route.continue()
        })
        await page.route("**/api/agent", async (route) => {
          const whole = await route.fetch()
          const [first, second] = (await whole.text()).split("\n\n")
          return route.fulfill({ response: whole, body: `${first}\n\n${second}\n\nevent: del` })
        })
        await page.getByLabel("Message").fill("A long way to the end of this answer")
        await page.getByRole("button", { name: "Send" }).click()
        await page.locator(".bubble.agent:not([aria-busy])", { hasText: "to the end of this answer" }).waitFor()
        assert.strictEqual(resumed.length, 1)
        assert.match(resumed[0] ?? "", /^msg_/)
      })
    )

    it.effect("The pages keep the statuses of agents current after failed polls, without a reload", () =>
      visiting({}, async ({ context, page }) => {
        await openChat(page)
        const live = page.locator("#agents-live")
        const status = page.locator("[data-agent] [data-status]")
        for (const fail of [500, 503, "abort"] as const) {
          await page.route("**/api/agents", (route) =>
            fail === "abort"
              ? route.abort("connectionrefused")
              : route.fulfill({ status: fail, json: { error: "broken", message: "It is broken." } })
          )
          await page.reload()
          await live.filter({ hasText: "not up to date" }).waitFor()
          await page.evaluate("document.querySelector('[data-agent] [data-status]').textContent = 'old'")
          await page.unroute("**/api/agents")
          await status.getByText("Running", { exact: true }).waitFor()
          await live.waitFor({ state: "hidden" })
        }
        await context.setOffline(true)
        await live.filter({ hasText: "not up to date" }).waitFor()
        await context.setOffline(false)
        await live.waitFor({ state: "hidden" })
      })
    )

    it.effect("The pages name the model of a reply, also after a reload", () =>
      visiting({}, async ({ page }) => {
        await openChat(page)
        await say(page, "Which model are you?")
        const reply = page.locator(".bubble.agent", { hasText: "Which model are you?" })
        const named = reply.getByText("sandbox/echo · sandbox")
        await named.waitFor()
        await page.reload()
        await named.waitFor()
        assert.deepStrictEqual(await findAccessibilityViolations(page), [])
      })
    )

    it.effect("The pages resume an answer after a reload in its middle, to its end and without repeated text", () =>
      visiting({}, async ({ page }) => {
        await openChat(page)
        const message = "Tell a story of the sea, word by word"
        await say(page, message)
        const answer = page.locator(".bubble.agent:not([aria-busy])").last()
        await answer.getByText("word by word").waitFor()
        const whole = await answer.locator("p").textContent()
        // As the conversation was while the answer ran; its events are still kept.
        await rewriteLastMessage(page, { status: "pending" })
        let streams = 0
        await page.route("**/api/agent/messages/*/events", async (route) => {
          streams += 1
          if (streams > 1) return route.continue()
          const response = await route.fetch()
          const [first, second] = (await response.text()).split("\n\n")
          return route.fulfill({ response, body: `${first}\n\n${second}\n\nevent: del` })
        })
        await page.reload()
        await answer.getByText("word by word").waitFor()
        await answer.getByText("sandbox/echo · sandbox").waitFor()
        assert.strictEqual(await answer.locator("p").textContent(), whole)
        assert.strictEqual(await page.locator(".bubble.user", { hasText: message }).count(), 1)
        assert.strictEqual(streams, 2)
        await page.locator("#chat-status").waitFor({ state: "hidden" })
      })
    )

    it.effect("The pages show a failed message after a reload with its reason, and send it again", () =>
      visiting({}, async ({ page }) => {
        await openChat(page)
        const message = "Please fail once"
        await say(page, message)
        const answers = page.locator(".bubble.agent:not([aria-busy])")
        await answers.getByText(message).waitFor()
        await rewriteLastMessage(page, { status: "failed", failure: "the model refused" })
        await page.reload()
        const failed = page.locator(".bubble.failed")
        await failed.getByText("The message was not answered: the model refused").waitFor()
        assert.deepStrictEqual(await findAccessibilityViolations(page), [])
        await page.unrouteAll()
        await failed.getByRole("button", { name: "Retry" }).click()
        await answers.last().getByText(message).waitFor()
        assert.strictEqual(await page.getByRole("button", { name: "Retry" }).count(), 0)
      })
    )

    it.effect("The pages keep a text that was refused, with the reason beside it until it is changed", () =>
      visiting({}, async ({ page }) => {
        await openChat(page)
        const text = page.getByLabel("Message")
        const told = page.locator("#chat-status")
        const bubbles = page.locator(".bubble")
        await bubbles.first().waitFor()
        const before = await bubbles.count()
        for (const status of [400, 402, 413, 429, 503, "abort"] as const) {
          await page.route("**/api/agent", (route) =>
            status === "abort"
              ? route.abort("internetdisconnected")
              : route.fulfill({ status, json: { error: "refused", message: `Refused with ${status}.` } })
          )
          await say(page, "Keep me")
          await told.filter({ hasText: status === "abort" ? "cannot be reached" : `Refused with ${status}.` }).waitFor()
          assert.strictEqual(await text.inputValue(), "Keep me")
          assert.strictEqual(await bubbles.count(), before)
          await page.unroute("**/api/agent")
          await text.press("End")
          await text.pressSequentially("!")
          await told.waitFor({ state: "hidden" })
        }
        await page.getByRole("button", { name: "Send" }).click()
        await page.locator(".bubble.agent:not([aria-busy])", { hasText: "Keep me!" }).waitFor()
        assert.strictEqual(await text.inputValue(), "")
        await told.waitFor({ state: "hidden" })
      })
    )

    it.effect("The pages drop notices that are no longer true, and have one word for a running agent", () =>
      visiting({}, async ({ page }) => {
        await openChat(page)
        const status = page.locator("[data-agent] [data-status]")
        const notice = page.getByText("and replies once it is running")
        const outcome = page.locator("#agents-status")
        await page.getByRole("button", { name: "Stop" }).click()
        await outcome.filter({ hasText: "stopped" }).waitFor()
        await notice.waitFor()
        await page.reload()
        await notice.waitFor()
        await page.getByRole("button", { name: "Stop" }).click()
        await outcome.filter({ hasText: "stopped" }).waitFor()
        // As from another window.
        const { origin } = new URL(page.url())
        const userId = await page.locator("#agents").getAttribute("data-user-id")
        await page.request.post(`/api/instance/${userId}/start`, { headers: { origin } })
        await page.evaluate("dispatchEvent(new Event('online'))")
        await status.getByText("Running", { exact: true }).waitFor()
        await notice.waitFor({ state: "hidden" })
        await outcome.waitFor({ state: "hidden" })
        await page.goto("/dashboard?notice=email_verified")
        await page.getByText("Your email address is confirmed.").waitFor()
        await page.reload()
        await page.getByRole("heading", { name: "Dashboard" }).waitFor()
        assert.strictEqual(await page.getByText("Your email address is confirmed.").count(), 0)
      })
    )

    it.effect("The pages show the sessions of an account as text, and end them", () =>
      visiting({}, async ({ page }) => {
        const session = {
          createdAt: "2026-01-01T00:00:00.000Z",
          lastSeenAt: "2026-01-02T00:00:00.000Z",
          address: "192.0.2.1"
        }
        const left = new Map([
          ["ses_1", { ...session, id: "ses_1", userAgent: firefoxOnMac, current: true }],
          ["ses_2", { ...session, id: "ses_2", userAgent: "<img src=x onerror=alert(1)>", current: false }]
        ])
        await page.route("**/api/auth/sessions", (route) => route.fulfill({ json: { sessions: [...left.values()] } }))
        await page.route("**/api/auth/sessions/*", (route) => {
          left.delete(new URL(route.request().url()).pathname.split("/").at(-1) ?? "")
          return route.fulfill({ json: { success: route.request().method() === "DELETE" } })
        })
        await register(page, makeAccount("sessions"))
        const rows = page.locator("#sessions > li")
        await rows.filter({ hasText: "<img src=x onerror=alert(1)>" }).getByRole("button").click()
        await page.getByText("The session ended.").waitFor()
        assert.strictEqual(await rows.count(), 1)
        assert.match((await rows.textContent()) ?? "", /^Firefox on macOS/)
        assert.strictEqual(await rows.getByRole("button").count(), 0)
      })
    )

    it.effect("The pages create an API key, show it once and revoke it", () =>
      visiting({}, async ({ page }) => {
        await register(page, makeAccount("apikeys"))
        await page.getByText("New API key").click()
        await page.getByLabel("Name", { exact: true }).last().fill("<b>laptop</b>")
        await page.getByLabel("Conversations with agents").check()
        await page.getByRole("button", { name: "Create the key" }).click()
        await page.getByText("it is not shown again").waitFor()
        const key = await page.getByLabel("Your new key").inputValue()
        assert.match(key, /^berth_[\w-]{43}$/)
        const answer = await page.request.get("/api/chat", { headers: { authorization: `Bearer ${key}` } })
        assert.strictEqual(answer.status(), 200)
        const rows = page.locator("#api-keys > li")
        assert.include(await rows.innerText(), "<b>laptop</b>")
        assert.notInclude(await rows.innerText(), key)
        await rows.getByRole("button").click()
        await page.getByText("is revoked.").waitFor()
        assert.strictEqual(await rows.count(), 0)
      })
    )

    it.effect("The console leads from sign-up over an agent to its answer, an API key and every other page", () =>
      visiting({ viewport: { width: 1200, height: 900 } }, async ({ page }) => {
        await register(page, pilot, "/dashboard/agents")
        await page.getByRole("button", { name: "New agent" }).click()
        await page.getByLabel("Name").fill("Ada <b>&")
        await page.getByRole("button", { name: "Create agent" }).click()
        const message = page.getByLabel("Message", { exact: true })
        await message.fill(hostileMarkdown)
        const sending = page.waitForResponse((answer) => answer.request().headers()["accept"] === "text/event-stream")
        await page.keyboard.press("Enter")
        assert.include((await sending).headers()["content-type"] ?? "", "text/event-stream")
        const answer = page.locator(".turn-agent", { has: page.locator(".answer-facts") })
        await answer.getByText("sandbox/echo · sandbox").waitFor()
        const findLinks = async () =>
          Promise.all((await answer.locator("a").all()).map((link) => link.getAttribute("href")))
        const links = ["https://example.com/good", "https://example.com/picture.png"]
        assert.deepStrictEqual(await findLinks(), links)
        assert.strictEqual(await answer.locator("img, script, b").count(), 0)
        assert.deepStrictEqual(await answer.locator("td").allTextContents(), ["left", "right"])
        assert.deepStrictEqual(await findAccessibilityViolations(page), [])

        await page.reload()
        await answer.getByText("sandbox/echo · sandbox").waitFor()
        assert.deepStrictEqual(await findLinks(), links)
        const chat = pathOf(page).split("?", 1)[0] ?? ""

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

        await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" })
        await page.setViewportSize({ width: 360, height: 740 })
        const [agent, account] = [chat.replace(/chat$/, ""), "/dashboard/settings/"]
        for (const [path, landmark] of [
          ["/dashboard/agents", "Ada <b>&"],
          [chat, "sandbox/echo"],
          [`${agent}settings`, "Instructions"],
          [`${agent}channels`, "Connect Telegram"],
          [`${agent}schedules`, "No schedules yet"],
          ["/dashboard/usage", "Units by day"],
          [`${account}profile`, "Current password"],
          ["/dashboard/administration/queues", "No dead letters"]
        ] as const) {
          await page.goto(path)
          await page.locator("main").getByText(landmark).first().waitFor()
          assert.deepStrictEqual(await findAccessibilityViolations(page), [], path)
          assert.isAtMost(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, path)
        }
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
      { colorScheme: "light", viewport: { width: 1200, height: 900 } },
      { colorScheme: "dark", viewport: { width: 360, height: 740 } }
    ] as const
    for (const look of looks) {
      it.effect(`The pages can be used by everybody, ${look.colorScheme} and ${look.viewport.width} wide`, () =>
        visiting(look, async ({ page }) => {
          const check = async (path: string) => {
            await page.goto(path)
            assert.strictEqual(pathOf(page), path)
            await page.evaluate("document.querySelectorAll('details').forEach((folded) => (folded.open = true))")
            assert.deepStrictEqual(await findAccessibilityViolations(page), [], path)
            assert.isAtMost(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, path)
          }
          for (const path of ["/", "/login", "/login?error=access_denied", "/signup", "/pricing"]) await check(path)
          await register(page, makeAccount(`look-${look.colorScheme}`))
          for (const path of ["/dashboard", "/dashboard/files", "/onboarding", "/pricing"]) await check(path)
        })
      )
    }

    it.effect(
      "The page of an instance's subdomain takes over a session, also one that begins on the way, and chats",
      () =>
        Effect.gen(function* () {
          let url = ""
          yield* visiting({}, async ({ page }) => {
            await openChat(page)
            const { agents } = decodeAgents(await (await page.request.get("/api/agents")).text())
            const detail = await page.request.get(`/api/agents/${agents[0].id}`)
            url = decodeDetail(await detail.text()).agent.url
            await page.goto(url)
            await page.waitForURL(`${url}/`)
            await page.locator("#chat-form button:enabled").waitFor()
            await say(page, "from the subdomain")
            await page.getByText("from the subdomain").nth(1).waitFor()
          })
          yield* visiting({}, async ({ context, page }) => {
            await page.goto(url)
            assert.strictEqual(new URL(page.url()).pathname, "/login")
            await signIn(page, talker)
            await page.waitForURL(`${url}/`)
            await page.getByText("from the subdomain").first().waitFor()
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
