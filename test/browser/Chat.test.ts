import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { fakeModels, ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { AgentManagerTest, fakeLogEntry } from "@berth/infra/backend/AgentManagerTest"
import * as AssetFiles from "@berth/infra/files/AssetFiles"
import * as ConsoleAssets from "@berth/server/pages/ConsoleAssets"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer, vi } from "@effect/vitest"
import { Effect, Layer, Schedule, Schema, Stream } from "effect"
import { fileURLToPath } from "node:url"
import type { BrowserContextOptions } from "playwright-core"
import { createOwnerWithAgent, type OwnerWithAgent } from "../contract/OwnerFixtures.ts"
import { sendMessage } from "../contract/TurnFixtures.ts"
import { eventually } from "../support/Eventually.ts"
import { describeWithTool } from "../support/RequiredTools.ts"
import { png } from "../support/Samples.ts"
import * as App from "../support/TestApp.ts"
import { Browser, browserTool, findAccessibilityViolations, type PageVisit } from "./Browser.ts"
import * as BrowserLayer from "./Browser.ts"

// Longer than one step waits, so that a step that fails says so itself.
vi.setConfig({ testTimeout: 180_000 })

const directory = fileURLToPath(new URL("../../dist/console", import.meta.url))
const readConsole = Effect.gen(function* () {
  const manifest = yield* AssetFiles.readAssets(directory, [ConsoleAssets.consoleManifest])
  const read = yield* Schema.decodeUnknown(Schema.parseJson(ConsoleAssets.ConsoleManifest))(
    new TextDecoder().decode(manifest.get(ConsoleAssets.consoleManifest))
  )
  return ConsoleAssets.make(read, yield* AssetFiles.readAssets(directory, ConsoleAssets.listConsoleFiles(read)))
})
const console = Layer.unwrapEffect(
  Effect.map(Effect.orDie(readConsole), (consoleAssets) => App.layer({ consoleAssets }))
)

const delta = (text: string): TurnEvent => ({ type: "delta", text })
const done = (reply: string): TurnEvent => ({ type: "done", reply, model: "sandbox/echo", provider: "sandbox" })
const tool = (status: "running" | "succeeded"): TurnEvent => ({
  type: "tool",
  call: {
    id: "0.0",
    name: "calculate",
    arguments: '{"x":"<b>17</b>"}',
    status,
    result: status === "running" ? null : "391"
  }
})
const words = Array.from({ length: 1_000 }, (_, n) => (n % 20 === 19 ? `word ${n}.\n\n` : `word ${n} `))
const thousand = words.map(delta)

const flood = words.join("").repeat(5)

const code = '```ts\n// A <script> is text.\nconst answer: number = 42 + Math.max(1, "two".length)\n```'

/** Messages choose their answers. */
const chat = (_userId: string, { message }: Turn): Stream.Stream<TurnEvent> => {
  if (message === "hang") return Stream.concat(Stream.make(delta("Half an "), tool("running")), Stream.never)
  if (message === "calculate") return Stream.make(tool("running"), tool("succeeded"), delta("391"), done("391"))
  if (message === "code") return Stream.make(delta(code), done(code))
  if (message === "paced")
    return Stream.concat(
      Stream.schedule(Stream.fromIterable(thousand), Schedule.spaced("2 millis")),
      Stream.make(done(words.join("")))
    )
  if (message === "flood") return Stream.make(delta(flood), done(flood))
  if (message === "long") return Stream.concat(Stream.fromIterable(thousand), Stream.make(done("The end of it")))
  return Stream.make(delta("Echo: "), delta(message), done(`Echo: ${message}`))
}

/** A script that pastes or drops a text file of one byte. */
const giveFile = (selector: string, event: "paste" | "drop", name: string) => `{
  const files = new DataTransfer()
  files.items.add(new File(["1"], "${name}", { type: "text/plain" }))
  const options = { clipboardData: files, dataTransfer: files, bubbles: true, cancelable: true }
  const gesture = "${event}" === "paste" ? new ClipboardEvent("paste", options) : new DragEvent("drop", options)
  document.querySelector("${selector}").dispatchEvent(gesture)
}`

/** A visit of the console by an owner; it ends without a complaint of the browser. */
const visiting = (
  owner: OwnerWithAgent,
  work: (visit: PageVisit) => Promise<void>,
  options: BrowserContextOptions = {}
) =>
  Effect.gen(function* () {
    const { webUrl } = yield* App.TestApp
    const browser = yield* Browser
    const { withBehavior } = yield* AgentManagerTest
    const [name = "", value = ""] = owner.cookie.split("=")
    yield* browser
      .visit({ baseURL: webUrl, ...options }, async (visit) => {
        await visit.context.addCookies([{ name, value, url: webUrl }])
        await work(visit)
        assert.deepStrictEqual(visit.complaints(), [])
      })
      .pipe(withBehavior({ chat }))
  })

/** A script that counts frames, renders of the growing answer, the most text that one of them adds, blocks that a complete answer renders, and measurements of the text field. */
const countRenders = `{
  const counted = (globalThis.counted = { blocks: 0, fields: 0, frames: 0, most: 0, renders: 0 })
  const growing = ".turn-agent[aria-busy=true]"
  const next = () => { counted.frames += 1; requestAnimationFrame(next) }
  requestAnimationFrame(next)
  new MutationObserver((changes) => {
    const elementOf = (node) => node instanceof Element ? node : node.parentElement
    const added = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node.matches?.(growing + " .markdown"))
    counted.most = Math.max(counted.most, added.reduce((sum, { textContent }) => sum + textContent.length, 0))
    if (changes.some(({ target }) => elementOf(target)?.closest(growing))) counted.renders += 1
    for (const { addedNodes, target } of changes) {
      if (elementOf(target)?.closest(growing)) continue
      if (elementOf(target)?.closest(".turn-agent .markdown")) counted.blocks += 1
      for (const node of addedNodes)
        if (node instanceof Element && !node.matches(growing))
          counted.blocks += [node, ...node.querySelectorAll("*")].filter((it) => it.matches(".turn-agent .markdown")).length
    }
  }).observe(document.body, { childList: true, characterData: true, subtree: true })
  const measure = getComputedStyle
  globalThis.getComputedStyle = (element, ...others) => {
    if (element.id === "composer" && document.querySelector(growing + " .markdown")) counted.fields += 1
    return measure(element, ...others)
  }
}`

/** A script that records each text that a screen reader announces. */
const recordAnnouncements = `{
  globalThis.announced = []
  new MutationObserver((changes) => {
    const regions = changes.map(({ target }) => (target instanceof Element ? target : target.parentElement)
      ?.closest("[aria-live], [role=status], [role=alert], [role=log]"))
    for (const region of new Set(regions))
      if (region && region.ariaLive !== "off" && region.textContent !== "") announced.push(region.textContent)
  }).observe(document.body, { childList: true, characterData: true, subtree: true })
}`

const Counted = Schema.Struct({
  blocks: Schema.Int,
  fields: Schema.Int,
  frames: Schema.Int,
  most: Schema.Int,
  renders: Schema.Int
})

/** A script that lists shown buttons and tabs under 44 pixels. */
const findSmallTargets = `[...document.querySelectorAll("button, .tabs a")]
  .map((target) => [target.ariaLabel ?? target.textContent, target.getBoundingClientRect()])
  .filter(([, { height, width }]) => width > 0 && (height < 44 || width < 44))
  .map(([name, { height, width }]) => [name, width, height].join(" "))`

/** A script that hides or shows the page to its own scripts. */
const setHidden = (isHidden: boolean) => `{
  Object.defineProperty(document, "hidden", { configurable: true, value: ${isHidden} })
  Object.defineProperty(document, "visibilityState", { configurable: true, value: ${isHidden} ? "hidden" : "visible" })
  document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))
}`

const chatOf = ({ agent }: OwnerWithAgent) => `/dashboard/agents/${agent.id}/chat`

describeWithTool(browserTool, "The chat of the console", () => {
  layer(Layer.merge(console, BrowserLayer.layer), { timeout: "180 seconds", excludeTestServices: true })((it) => {
    it.effect("The chat stops answers, shows tools and prices, and keeps windows alike, by keyboard on a phone", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        yield* visiting(
          owner,
          async ({ context, page }) => {
            await page.goto(chatOf(owner))
            const message = page.getByLabel("Message", { exact: true })
            await message.waitFor()
            assert.deepStrictEqual(await page.evaluate(findSmallTargets), [])
            await message.fill("hang")
            await page.keyboard.press("Enter")
            await page.getByRole("button", { name: "Stop the answer" }).waitFor()
            await page.locator(".turn-agent[aria-busy=true]", { hasText: "Half an" }).waitFor()
            await page.locator(".tool-card[data-status=running]").waitFor()
            const other = await context.newPage()
            await other.goto(chatOf(owner))
            await other.locator(".turn-agent[aria-busy=true]", { hasText: "Half an" }).waitFor()
            await message.press("Escape")
            for (const window of [page, other])
              await window.locator(".answer-facts", { hasText: /1 unit · Stopped/ }).waitFor()
            await page.locator(".tool-card[data-status=failed]").waitFor()

            await message.fill("calculate")
            await page.keyboard.press("Enter")
            await page.locator(".answer-facts", { hasText: /sandbox\/echo · sandbox · .* s · 1 unit/ }).waitFor()
            const card = page.locator(".turn-agent:not([aria-busy]) .tool-card[data-status=succeeded]")
            await card.locator("summary").press("Enter")
            assert.include(await card.innerText(), "<b>17</b>")
            assert.deepStrictEqual(await findAccessibilityViolations(page), [])
            assert.isAtMost(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
            await message.fill("code")
            await page.keyboard.press("Enter")
            await page.locator(".code .hljs-keyword", { hasText: "const" }).waitFor()
            await page.locator(".code .hljs-comment", { hasText: "// A <script> is text." }).waitFor()
            for (const colorScheme of ["light", "dark"] as const) {
              await page.emulateMedia({ colorScheme })
              assert.deepStrictEqual(await findAccessibilityViolations(page), [])
            }

            await other.bringToFront()
            await other.locator(".tool-card[data-status=succeeded]").waitFor()

            await other.getByRole("button", { name: "Conversations" }).click()
            await other.getByRole("button", { name: /^Actions of/ }).click()
            await other.getByRole("menuitem", { name: "Rename" }).click()
            await other.getByLabel("Title").fill("<i>Sums</i>")
            await other.keyboard.press("Enter")
            await other.getByRole("button", { name: /^<i>Sums<\/i>/ }).waitFor()
            await other.getByRole("button", { name: "Actions of <i>Sums</i>" }).click()
            await other.getByRole("menuitem", { name: "Delete" }).click()
            await other.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
            await other.getByText("Continue on any device.").waitFor()
            await other.getByRole("button", { name: "Conversations" }).click()
            await other.getByRole("listitem").filter({ hasText: "Conversations appear here." }).waitFor()
          },
          { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }
        )
      })
    )

    it.effect("The chat takes files by button, paste and drop, restores one, and shows them after a reload", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { withBehavior } = yield* ModelProvidersTest
        const catalog = Effect.succeed(fakeModels.map((model) => ({ ...model, tags: [...model.tags, "vision"] })))
        yield* visiting(
          owner,
          async ({ page }) => {
            await page.goto(chatOf(owner))
            const message = page.getByLabel("Message", { exact: true })
            const draft = page.locator(".draft-files li")
            await page.locator("input[type=file]").setInputFiles([
              { name: "dot.png", mimeType: "image/png", buffer: png },
              { name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("# Notes") },
              { name: "song.mp3", mimeType: "audio/mpeg", buffer: Buffer.from("ID3\u0000") }
            ])
            await draft.getByRole("img", { name: "dot.png" }).waitFor()
            await draft.filter({ hasText: "notes.md" }).filter({ hasText: "7 B" }).waitFor()
            await draft.filter({ hasText: "neither a PNG" }).waitFor()
            assert.isTrue(await page.getByRole("button", { name: "Send" }).isDisabled())
            await page.getByRole("button", { name: "Remove song.mp3" }).press("Enter")
            await page.evaluate(giveFile("#composer", "paste", "pasted.csv"))
            await draft.filter({ hasText: "pasted.csv" }).waitFor()
            await page.evaluate(giveFile(".composer form", "drop", "dropped.txt"))
            await draft.filter({ hasText: "dropped.txt" }).filter({ hasText: "1 B" }).waitFor()
            assert.deepStrictEqual(await findAccessibilityViolations(page), [])
            assert.isAtMost(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
            await page.reload()
            await draft.getByRole("img", { name: "dot.png" }).waitFor()
            for (const name of ["notes.md", "pasted.csv", "dropped.txt"])
              await draft.filter({ hasText: name }).waitFor()
            const removePasted = page.getByRole("button", { name: "Remove pasted.csv" })
            await removePasted.press("Enter")
            await draft.filter({ hasText: "pasted.csv" }).waitFor({ state: "detached" })
            await page.getByRole("alert").getByRole("button", { name: "Undo" }).press("Enter")
            await removePasted.press("Enter")
            await draft.filter({ hasText: "pasted.csv" }).waitFor({ state: "detached" })
            await message.press("Enter")
            await page.locator(".turn-agent", { hasText: "# Notes" }).locator(".answer-facts").waitFor()
            assert.strictEqual(await draft.count(), 0)
            await page.reload()
            await message.waitFor()
            assert.strictEqual(await draft.count(), 0)
            const sent = page.locator(".turn-user")
            await sent.getByRole("img", { name: "dot.png" }).waitFor()
            for (const name of ["notes.md", "dropped.txt"])
              await sent.getByRole("link", { name: new RegExp(name) }).waitFor()
            await page.evaluate("document.querySelector('.turn-user img').decode()")
            assert.deepStrictEqual(await findAccessibilityViolations(page), [])
            await page.getByRole("button", { name: "Edit and send again" }).click()
            await draft.filter({ hasText: "dropped.txt" }).waitFor()
          },
          { viewport: { width: 360, height: 740 } }
        ).pipe(withBehavior({ catalog }))
      })
    )

    it.effect("The chat sends an edited message, and repeats a message", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        yield* visiting(owner, async ({ page }) => {
          await page.goto(chatOf(owner))
          const message = page.getByLabel("Message", { exact: true })
          const requested = page.locator(".turn-user .text")
          const replies = page.locator(".turn-agent", { has: page.locator(".answer-facts") })
          await message.fill("one")
          await message.press("Enter")
          await replies.filter({ hasText: "Echo: one" }).waitFor()
          await page.getByRole("button", { name: "Edit and send again" }).click()
          assert.strictEqual(await message.inputValue(), "one")
          await message.press("End")
          await page.keyboard.type(" and two")
          await message.press("Enter")
          await replies.filter({ hasText: "Echo: one and two" }).waitFor()
          await page.getByRole("button", { name: "Ask again" }).click()
          await replies.nth(2).filter({ hasText: "Echo: one and two" }).waitFor()
          assert.deepStrictEqual(await requested.allTextContents(), ["one", "one and two", "one and two"])
        })
      })
    )

    it.effect(
      "The chat keeps texts in writing when a message is refused or accepted, and another conversation begins",
      () =>
        Effect.gen(function* () {
          const owner = yield* createOwnerWithAgent()
          const sql = yield* SqlClient
          const { web } = yield* App.TestApp
          yield* visiting(owner, async ({ page }) => {
            await page.goto(chatOf(owner))
            const message = page.getByLabel("Message", { exact: true })
            await page.route("**/api/agent", (route) => route.fulfill({ status: 402, json: { message: "Refused." } }))
            await message.fill("Keep me")
            await message.press("Enter")
            const failure = page.locator(".composer-failure", { hasText: "Refused." })
            await failure.waitFor()
            await page.unrouteAll()
            const body = { action: "create-session", agentId: owner.agent.id }
            await Effect.runPromise(web({ method: "POST", path: "/api/agent", as: owner, json: body }))
            await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            await page.locator(".conversations .conversation").nth(1).waitFor()
            assert.strictEqual(await failure.count(), 1)
            assert.strictEqual(await message.inputValue(), "Keep me")

            await page.route("**/api/agent", async (route) => {
              await message.fill("The next one")
              return route.continue()
            })
            await message.press("Enter")
            await page.locator(".turn-agent", { hasText: "Echo: Keep me" }).locator(".answer-facts").waitFor()
            assert.strictEqual(await message.inputValue(), "The next one")
          })
          assert.deepStrictEqual(
            yield* sql`select session_id from messages where user_id = ${owner.user.id} and sender = 'user'`,
            [{ sessionId: owner.conversation }]
          )
        })
    )

    it.effect("A hidden console sends no request, and shows the newest state when it is seen again", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const sql = yield* SqlClient
        const { withBehavior } = yield* AgentManagerTest
        let message = "Before"
        const logs = () => Effect.succeed({ entries: [{ ...fakeLogEntry, message }], total: 1 })
        yield* sendMessage(owner)
        yield* visiting(owner, async ({ page }) => {
          await page.clock.install()
          await page.goto("/dashboard")
          const card = page.getByRole("article").filter({ hasText: owner.agent.name })
          await card.getByText("now", { exact: true }).waitFor()
          await card.getByText("Running").waitFor()
          const requests: Array<string> = []
          page.on("request", (request) => requests.push(`${request.headers()["accept"] ?? ""} ${request.url()}`))
          await page.evaluate(setHidden(true))
          await page.clock.fastForward("10:00")
          await page.clock.runFor("01:00")
          assert.deepStrictEqual(requests, [])
          await page.evaluate(setHidden(false))
          await card.getByText(/^1\d min. ago$/).waitFor()
          await page.evaluate(setHidden(true))
          await Effect.runPromise(sql`update agents set status = 'stopped' where id = ${owner.agent.id}`)
          requests.length = 0
          await page.evaluate(setHidden(false))
          await card.getByText("Stopped").waitFor()
          assert.isNotEmpty(requests)
          for (const request of requests)
            assert.isAtMost(requests.filter((other) => other === request).length, 2, request)

          await page.goto(chatOf(owner).replace(/chat$/, "logs"))
          await page.getByText("Before").waitFor()
          await page.evaluate(setHidden(true))
          message = "While hidden"
          await page.clock.fastForward("10:00")
          assert.strictEqual(await page.getByText("Before").count(), 1)
          await page.evaluate(setHidden(false))
          await page.getByText("While hidden").waitFor()
          await page.getByLabel("Follow").press("Space")
          message = "After"
          await page.evaluate(setHidden(true))
          await page.clock.fastForward("10:00")
          requests.length = 0
          await page.evaluate(setHidden(false))
          await page.clock.runFor("01:00")
          assert.deepStrictEqual(
            requests.filter((request) => request.includes("/logs")),
            []
          )
          await page.getByLabel("Follow").press("Space")
          await page.getByText("After").waitFor()
        }).pipe(withBehavior({ logs }))
      })
    )

    it.effect("The console confirms the interruption of answers, and names the model that answers, by keyboard", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const sql = yield* SqlClient
        const { calls } = yield* AgentManagerTest
        yield* sql`
        update agents set model = 'custom', custom_model = 'acme/llama' where id = ${owner.agent.id}`
        const interruptions = Effect.map(calls, (all) =>
          all
            .filter(({ target }) => target === owner.user.id)
            .map(({ method }) => method)
            .filter((method) => method === "restart" || method === "stop" || method === "start")
        )
        yield* visiting(owner, async ({ page }) => {
          await page.goto("/dashboard")
          await page.getByRole("article").getByText("Custom model").waitFor()
          await page.keyboard.press("Control+k")
          await page.getByRole("dialog").getByText("Custom model").waitFor()
          await page.keyboard.press("Escape")
          await page.goto(chatOf(owner))
          await page.getByText("acme/llama, answered by the sandbox").waitFor()
          // It takes the focus when it appears.
          await page.getByLabel("Message", { exact: true }).waitFor()

          const more = page.getByRole("button", { name: "More actions" })
          const dialog = page.getByRole("dialog")
          const choose = async (name: string) => {
            await more.press("Enter")
            await page.getByRole("menu").waitFor()
            assert.deepStrictEqual(await findAccessibilityViolations(page), [])
            await page.getByRole("menuitem", { name }).press("Enter")
            await dialog.getByText("Answers in progress end").waitFor()
          }
          await choose("Restart")
          assert.deepStrictEqual(await findAccessibilityViolations(page), [])
          await page.keyboard.press("Escape")
          await dialog.waitFor({ state: "detached" })
          assert.deepStrictEqual(await Effect.runPromise(interruptions), [])
          await vi.waitFor(
            async () => assert.strictEqual(await page.evaluate("document.activeElement.ariaLabel"), "More actions"),
            20_000
          )
          await choose("Restart")
          await dialog.getByRole("button", { name: "Restart" }).press("Enter")
          await dialog.waitFor({ state: "detached" })
          await page.getByRole("button", { name: "Stop", exact: true }).press("Enter")
          await dialog.getByText("No agent answers until you start the instance again.").waitFor()
          await dialog.getByRole("button", { name: "Stop" }).press("Enter")
          await dialog.waitFor({ state: "detached" })
          assert.deepStrictEqual(await Effect.runPromise(interruptions), ["restart", "stop"])
        })
      })
    )

    it.effect("The console opens pages by its palette, and discards, saves and restores settings, by keyboard", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        yield* visiting(owner, async ({ page }) => {
          await page.goto("/dashboard")
          await page.getByRole("button", { name: "New agent" }).waitFor()
          const palette = page.getByRole("dialog")
          const choose = async (text: string, found: string, meanwhile = async () => {}) => {
            await page.keyboard.press("Control+k")
            await page.getByPlaceholder("Search pages, agents and commands").fill(text)
            await meanwhile()
            await palette.locator("button[data-selected]", { hasText: found }).waitFor()
            assert.deepStrictEqual(await findAccessibilityViolations(page), [])
            await page.keyboard.press("Enter")
            await palette.waitFor({ state: "detached" })
          }
          await choose("webh", "Webhooks")
          await page.waitForURL("**/dashboard/settings/webhooks")
          let release = () => {}
          const released = new Promise<void>((resolve) => (release = resolve))
          await page.route("**/api/agent?action=sessions*", async (route) => {
            await released
            await route.continue()
          })
          await choose(owner.agent.model, owner.agent.name)
          await page.waitForURL(`**${chatOf(owner)}`)
          const scheme = () => page.evaluate("document.documentElement.dataset.mantineColorScheme")
          const before = await scheme()
          // The chat appears behind the palette and leaves it the focus.
          await choose("dark", "Switch between light and dark", async () => {
            release()
            await page.locator("#composer").waitFor()
          })
          await vi.waitFor(async () => assert.notStrictEqual(await scheme(), before), 20_000)
          await page.keyboard.press("Control+k")
          await palette.waitFor()
          await page.keyboard.press("Escape")
          await palette.waitFor({ state: "detached" })

          await page.getByRole("link", { name: "Settings" }).last().press("Enter")
          const instructions = page.getByLabel("Instructions")
          const first = await instructions.inputValue()
          await instructions.fill("Answer in verse.")
          await page.getByRole("button", { name: "Discard" }).press("Enter")
          await page.getByText("All changes are saved.").waitFor()
          assert.strictEqual(await instructions.inputValue(), first)
          await page.keyboard.press("Control+z")
          await page.getByText("You have unsaved changes.").waitFor()
          assert.strictEqual(await instructions.inputValue(), "Answer in verse.")
          await page.getByRole("button", { name: "Save changes" }).press("Enter")
          await page.getByText("All changes are saved.").waitFor()
          assert.deepStrictEqual(await findAccessibilityViolations(page), [])
          await page.getByRole("alert").getByRole("button", { name: "Undo" }).press("Enter")
          await vi.waitFor(async () => assert.strictEqual(await instructions.inputValue(), first), 20_000)

          await page.getByRole("link", { name: "Agent-to-agent" }).press("Enter")
          const senders = page.locator("input").and(page.getByLabel("Allowed senders"))
          await senders.fill(owner.user.id)
          await senders.press("Enter")
          await page.getByRole("button", { name: "Save changes" }).press("Enter")
          await page.getByRole("alert").getByRole("button", { name: "Undo" }).press("Enter")
          await page.locator("main").getByText(owner.user.id).waitFor({ state: "detached" })
          await page.getByRole("link", { name: "Settings" }).last().press("Enter")

          const questions: Array<string> = []
          page.on("dialog", (dialog) => questions.push(dialog.message()))
          await instructions.fill("Answer in verse.")
          await page.getByRole("link", { name: "Memory" }).press("Enter")
          await page.waitForURL("**/memory")
          assert.deepStrictEqual(questions, ["Your changes are not saved. Leave this page?"])
        })
      })
    )

    it.effect("The memory of an agent is searched, and its notes are added, removed and restored", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { web } = yield* App.TestApp
        yield* web({ method: "POST", path: "/api/chat", as: owner, json: { message: "The lighthouse is white." } })
        yield* visiting(owner, async ({ page }) => {
          await page.goto(chatOf(owner).replace(/chat$/, "memory"))
          await page.getByText("No notes yet").waitFor()
          await page.getByRole("button", { name: "Add a note" }).click()
          await page.getByLabel("Note", { exact: true }).fill("  The lighthouse needs <b>paint</b>. ")
          await page.getByRole("button", { name: "Add a note" }).click()
          const notes = page.getByRole("list", { name: "Notes" })
          await notes.getByText("The lighthouse needs <b>paint</b>.", { exact: true }).waitFor()
          await page.getByRole("searchbox", { name: "Search memory" }).fill("lighthouse")
          const matches = page.getByRole("list", { name: "Matches" })
          await matches.getByText("Echo: The lighthouse is white.").waitFor()
          assert.strictEqual(await matches.getByRole("listitem").count(), 3)
          assert.deepStrictEqual(await findAccessibilityViolations(page), [])
          await notes.getByRole("button", { name: /^Remove the note: The lighthouse/ }).click()
          await page.getByText("No notes yet").waitFor()
          await page.getByRole("alert").getByRole("button", { name: "Undo" }).click()
          await notes.getByText("paint").waitFor()
          await page.evaluate(`Promise.all(Array.from({ length: 20 }, (_, n) =>
            fetch("/api/agents/${owner.agent.id}/memory/notes", {
              method: "POST",
              headers: { "content-type": "application/json" },
              body: JSON.stringify({ text: "Fact " + n + "." })
            })))`)
          await page.reload()
          await page.getByRole("button", { name: "3", exact: true }).click()
          await notes.getByRole("button", { name: /^Remove the note: The lighthouse/ }).click()
          await notes.getByText("Fact").first().waitFor()
          await page.locator("button[aria-current=page]", { hasText: "2" }).waitFor()
          await page.getByRole("searchbox", { name: "Search memory" }).fill("lighthouse")
          await matches.getByRole("link", { name: "Open" }).first().click()
          await page.waitForURL(`**/chat?conversation=${owner.conversation}`)
        })
      })
    )

    it.effect("The chat resumes behind a cut stream, and leads to the sign-in when the session ended elsewhere", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const sql = yield* SqlClient
        const { web } = yield* App.TestApp
        yield* visiting(owner, async ({ page }) => {
          await page.goto(chatOf(owner))
          const message = page.getByLabel("Message", { exact: true })
          const resumed = page.waitForRequest(/\/api\/agent\/messages\/msg_\w+\/events$/)
          await page.route("**/api/agent", async (route) => {
            if (route.request().method() !== "POST") return route.continue()
            const whole = await route.fetch()
            const [first] = (await whole.text()).split("\n\n")
            return route.fulfill({ response: whole, body: `${first}\n\nevent: del` })
          })
          await message.fill("to the end")
          await page.keyboard.press("Enter")
          assert.match((await resumed).headers()["last-event-id"] ?? "", /^msg_\w+:1$/)
          await page.locator(".turn-agent", { hasText: "Echo: to the end" }).locator(".answer-facts").waitFor()
          await page.unrouteAll()
          // The console can notice the end of its session by itself, before the message is sent.
          await message.fill("anyone there?")
          await Effect.runPromise(web({ method: "POST", path: "/api/auth/signout", as: owner }))
          await page.keyboard.press("Enter")
          await page.waitForURL((url) => url.pathname === "/login")
          assert.include(new URL(page.url()).searchParams.get("callbackUrl"), chatOf(owner))
        })
        assert.deepStrictEqual(
          yield* sql`select state from messages where user_id = ${owner.user.id} and sender = 'user'`,
          [{ state: "answered" }]
        )
      })
    )

    it.effect(
      "The console warns of a budget from 80 % of its units on, unless its owner becomes an administrator, and restores removed budgets",
      () =>
        Effect.gen(function* () {
          const owner = yield* createOwnerWithAgent()
          const sql = yield* SqlClient
          for (let sent = 0; sent < 3; sent += 1) yield* sendMessage(owner)
          yield* visiting(owner, async ({ page }) => {
            const warning = page.getByRole("status").filter({ hasText: "The budget “" })
            await page.goto("/dashboard/usage")
            const field = (label: RegExp) => page.locator("input").and(page.getByLabel(label))
            const budgets = page.getByRole("list", { name: "Budgets" })
            for (const period of ["Per month", "Per day"]) {
              await field(/^Period/).click()
              await page.getByRole("option", { name: period }).click()
              await field(/^Units/).fill("5")
              await page.keyboard.press("Enter")
              await budgets.getByText(`Whole account, ${period.toLowerCase()}`).waitFor()
            }
            assert.strictEqual(await budgets.getByText("3 of 5 used.").count(), 2)
            assert.strictEqual(await warning.count(), 0)

            await page.goto(chatOf(owner))
            const message = page.getByLabel("Message", { exact: true })
            for (const state of ["nearly used up: 4 of 5 units.", "5 units, is used up"]) {
              await message.fill("One more")
              await message.press("Enter")
              await warning
                .filter({ hasText: state })
                .filter({ hasText: "1 other budget is near the limit too." })
                .waitFor()
            }
            await warning.getByRole("link", { name: "See the budgets" }).click()
            await budgets.waitFor()
            await Effect.runPromise(sql`
            update users set email = ${App.testAdminEmail}, email_verified_at = now() where id = ${owner.user.id}`)
            await page.reload()
            await page.getByText("This account is not charged units, so budgets do not limit it.").waitFor()
            await budgets.getByText("5 of 5 used.").first().waitFor()
            assert.strictEqual(await warning.count(), 0)
            assert.strictEqual(await budgets.getByText("Used up.").count(), 0)
            const left = budgets.getByRole("button", { name: "Remove" })
            for (const count of [1, 0]) {
              await left.first().click()
              await left.nth(count).waitFor({ state: "detached" })
            }
            await page.getByText("No budgets").waitFor()
            assert.strictEqual(await warning.count(), 0)
            for (const count of [1, 2]) {
              await page.keyboard.press("Control+z")
              await vi.waitFor(async () => assert.strictEqual(await left.count(), count), 20_000)
            }
          })
        })
    )

    it.effect(
      "The chat renders answers once per frame at most, two thousand characters at once, stored text not again, and its text field not at all",
      () =>
        Effect.gen(function* () {
          const owner = yield* createOwnerWithAgent()
          yield* visiting(owner, async ({ page }) => {
            await page.goto(chatOf(owner))
            const message = page.getByLabel("Message", { exact: true })
            await message.fill("paced")
            await page.evaluate(countRenders)
            await page.evaluate(recordAnnouncements)
            await message.press("Enter")
            await page.locator(".answer-facts", { hasText: "sandbox/echo" }).waitFor()
            const announcement = `${owner.agent.name}: ${words.join("").replaceAll(/\s+/g, " ").trim()}`
            await page.getByRole("status").filter({ hasText: "word 999." }).waitFor()
            assert.deepStrictEqual(await page.evaluate("announced"), [announcement])
            assert.strictEqual(await page.locator(".turn-agent .markdown").count(), 50)
            const { blocks, fields, frames, renders } = Schema.decodeUnknownSync(Counted)(
              await page.evaluate("counted")
            )
            assert.isAbove(renders, 4)
            assert.strictEqual(blocks, 0)
            // The opening of the answer, its tools and its end are separate renders.
            assert.isAtMost(renders, Math.min(frames, 500) + 5)
            // The sent message and the end change the field; each of its renders measures it twice or more.
            assert.isAtMost(fields, 8)

            await message.fill("flood")
            await message.press("Enter")
            await page.locator(".answer-facts", { hasText: "sandbox/echo" }).nth(1).waitFor()
            const flooded = Schema.decodeUnknownSync(Counted)(await page.evaluate("counted"))
            assert.isAbove(flooded.most, 1_000)
            assert.isAtMost(flooded.most, 2_500)
          })
        })
    )

    it.effect("The chat ends an answer in a page without frames, such as a hidden page", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        yield* visiting(owner, async ({ page }) => {
          await page.goto(chatOf(owner))
          const message = page.getByLabel("Message", { exact: true })
          await message.fill("flood")
          await page.evaluate("void (globalThis.requestAnimationFrame = () => 0)")
          await message.press("Enter")
          await page.locator(".answer-facts", { hasText: "sandbox/echo" }).waitFor()
          assert.strictEqual(await page.locator(".turn-agent[aria-busy=true]").count(), 0)
        })
      })
    )

    it.effect(
      "The console holds two hundred agents, ten thousand messages and a thousand deltas in little memory",
      () =>
        Effect.gen(function* () {
          const owner = yield* createOwnerWithAgent()
          const sql = yield* SqlClient
          yield* sql`
          insert into agents (id, owner_id, name, model, status, config, created_at, updated_at)
          select id || n, owner_id, 'Agent <b>' || n, model, status, config, created_at - n * interval '1 minute', updated_at
          from agents, generate_series(1, 199) as n where id = ${owner.agent.id}`
          yield* sql`
          insert into messages (id, session_id, user_id, agent_id, seq, sender, content, platform, state, created_at)
          select 'msg_' || ${owner.user.id} || n, id, user_id, agent_id, n, case n % 2 when 1 then 'user' else 'agent' end,
            'message ' || n, 'web', 'answered', now() - (10001 - n) * interval '1 second'
          from chat_sessions, generate_series(1, 10000) as n where id = ${owner.conversation}`
          yield* sql`update chat_sessions set last_seq = 10000, message_count = 10000 where id = ${owner.conversation}`
          yield* visiting(owner, async ({ context, page }) => {
            await page.goto("/dashboard/agents")
            await page.getByLabel("Search agents").fill("Agent <b>199")
            await page.getByRole("link", { name: "Agent <b>199" }).waitFor()
            await page.getByLabel("Search agents").fill("")
            await page.getByText("message 10000", { exact: true }).waitFor()

            await page.goto(chatOf(owner))
            await page.getByText("message 10000", { exact: true }).waitFor()
            await page.getByRole("button", { name: "Show earlier messages" }).click()
            await page.getByText("message 9901", { exact: true }).waitFor()
            assert.strictEqual(await page.locator(".turn").count(), 100)

            const profiler = await context.newCDPSession(page)
            const ask = async () => {
              const before = await page.locator(".answer-facts", { hasText: "sandbox/echo" }).count()
              await page.getByLabel("Message", { exact: true }).fill("long")
              await page.keyboard.press("Enter")
              await page.locator(".answer-facts", { hasText: "sandbox/echo" }).nth(before).waitFor()
            }
            const readHeap = async () => {
              await profiler.send("HeapProfiler.collectGarbage")
              return (await profiler.send("Runtime.getHeapUsage")).usedSize
            }
            await ask()
            const first = await readHeap()
            await ask()
            await ask()
            // Work of the last frames can still hold memory.
            await Effect.runPromise(eventually(Effect.promise(readHeap), (size) => size - first < 4 * 1024 * 1024))
          })
        })
    )
  })
})
