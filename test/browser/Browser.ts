import { Context, Effect, Layer, Option } from "effect"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { findBrowser } from "../support/BrowserBinary.ts"
import type { RequiredTool } from "../support/RequiredTools.ts"

const binary = await Effect.runPromise(findBrowser)

export const browserTool: RequiredTool = {
  name: "a Chromium",
  present: Option.isSome(binary),
  missingReason: "that starts is neither among the packages nor on the PATH"
}

/** No step waits longer for what it needs. */
const stepTimeoutMs = 60_000

/** Errors and security policy violations of a page. */
type PageErrors = ReadonlyArray<string>

export interface PageVisit {
  readonly page: Page
  readonly context: BrowserContext
  /** Everything so far. An API answer that refuses something is shown by the page and is no complaint. */
  readonly complaints: () => PageErrors
}

export class Browser extends Context.Tag("@berth/test/Browser")<
  Browser,
  {
    /** A separate browser profile with one page; it ends with `work`. */
    readonly visit: <A>(options: BrowserContextOptions, work: (visit: PageVisit) => Promise<A>) => Effect.Effect<A>
  }
>() {}

/** Forms whose page shows what is wrong, with its status. */
const forms = new Set(["/signup", "/forgot-password"])

const isRefusal = (path: string) => path.startsWith("/api/") || forms.has(path)

const isRefusedCall = (text: string, url: string) =>
  text.startsWith("Failed to load resource") && URL.canParse(url) && isRefusal(new URL(url).pathname)

const open = async (context: BrowserContext): Promise<PageVisit> => {
  context.setDefaultTimeout(stepTimeoutMs)
  context.setDefaultNavigationTimeout(stepTimeoutMs)
  const complaints: Array<string> = []
  context.on("console", (message) => {
    if (message.type() === "error" && !isRefusedCall(message.text(), message.location().url))
      complaints.push(`${message.text()} (${message.location().url})`)
  })
  context.on("weberror", (error) => complaints.push(String(error.error())))
  const page = await context.newPage()
  page.on("dialog", (dialog) => {
    if (dialog.type() === "alert") complaints.push(`alert: ${dialog.message()}`)
    void dialog.accept()
  })
  return { page, context, complaints: () => [...complaints] }
}

/** One browser for a file of tests. */
export const layer = Layer.scoped(
  Browser,
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(() =>
        chromium.launch({
          executablePath: Option.getOrElse(binary, () => "chromium"),
          // It shows nothing but pages of this run's own service, and tests may run as root.
          args: ["--no-sandbox"],
          timeout: stepTimeoutMs
        })
      ),
      (browser) => Effect.promise(() => browser.close())
    ),
    (browser) => ({
      visit: (options, work) =>
        Effect.acquireUseRelease(
          Effect.promise(() => browser.newContext(options)),
          (context) => Effect.promise(async () => work(await open(context))),
          (context) => Effect.promise(() => context.close())
        )
    })
  )
)

const axeSource = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** Media queries take effect with the next frame. A transition passes through colors of no design. */
const transitionsEnd = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() =>
  Promise.allSettled(
    document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime < Infinity).map(({ finished }) => finished)
  )
).then(() => undefined)`

/** Axe violations of a page, one line each (WCAG 2.2 A and AA, best practices). */
export const findAccessibilityViolations = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(await axeSource)
  await page.evaluate(transitionsEnd)
  const found: unknown = await page.evaluate(
    "axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))"
  )
  return Array.isArray(found) ? found.map(String) : ["axe said nothing"]
}
