import { Context, Effect, Layer, Option } from "effect"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { findBrowser } from "../support/BrowserBinary.ts"
import type { Tool } from "../support/Tools.ts"

const binary = await Effect.runPromise(findBrowser)

export const browserTool: Tool = {
  name: "a Chromium",
  present: Option.isSome(binary),
  missing: "that starts is neither among the packages nor on the PATH"
}

/** No step waits longer for what it needs. */
const patience = 60_000

/** What a page complained of: errors of its own, and what its security policy stopped. */
export type Complaints = ReadonlyArray<string>

export interface Visit {
  readonly page: Page
  readonly context: BrowserContext
  /** Everything so far. An API answer that refuses something is shown by the page and is no complaint. */
  readonly complaints: () => Complaints
}

export class Browser extends Context.Tag("@berth/test/Browser")<
  Browser,
  {
    /** A browser profile of its own with one page; it ends with `work`. */
    readonly visit: <A>(options: BrowserContextOptions, work: (visit: Visit) => Promise<A>) => Effect.Effect<A>
  }
>() {}

const isRefusedCall = (text: string, url: string) =>
  text.startsWith("Failed to load resource") && URL.canParse(url) && new URL(url).pathname.startsWith("/api/")

const open = async (context: BrowserContext): Promise<Visit> => {
  context.setDefaultTimeout(patience)
  context.setDefaultNavigationTimeout(patience)
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
          timeout: patience
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

/** What axe finds wrong with a page, a line each (WCAG 2.2 A and AA, and its best practices). */
export const accessibilityFaults = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(await axeSource)
  const found: unknown = await page.evaluate(
    "axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))"
  )
  return Array.isArray(found) ? found.map(String) : ["axe said nothing"]
}
