import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Browser, browserTool } from "../browser/Browser.ts"
import * as BrowserLayer from "../browser/Browser.ts"
import { repeatUntil } from "./BerthProcess.ts"
import { SharedBerth, type SharedBerthPart } from "./SharedBerth.ts"
import { ownerWithRunningAgent } from "./UpstreamModels.ts"

/** The console while the supervisor restarts the server. */
export const consoleRestarts: SharedBerthPart = (it) => {
  it.effect.skipIf(!browserTool.present)(
    "The console ends an answer whose server was stopped or killed, and its retry is answered",
    Effect.fn(function* () {
      const { berth, openai } = yield* SharedBerth
      const person = yield* ownerWithRunningAgent
      const { visit } = yield* Browser
      const restart = (signal: NodeJS.Signals) =>
        Effect.gen(function* () {
          const { server } = yield* berth.pids
          process.kill(server, signal)
          yield* repeatUntil(Effect.map(berth.pids, (pids) => pids.server !== server))
          yield* berth.ready
        })
      yield* visit({ baseURL: berth.webUrl.replace("127.0.0.1", "localhost") }, async ({ context, page }) => {
        // The lease of a killed server ends first.
        page.setDefaultTimeout(120_000)
        await context.request.post("/api/auth/callback/credentials", { data: person.account })
        await page.goto(`/dashboard/agents/${person.agentId}/chat`)
        const message = page.getByLabel("Message", { exact: true })
        const growing = page.locator(".turn-agent[aria-busy=true]")
        for (const [index, signal] of (["SIGTERM", "SIGKILL"] as const).entries()) {
          openai.respondWith({ type: "break-off", pieces: ["Half ", "an "], by: "hanging" })
          await message.fill(`Tell me of ${signal}`)
          await message.press("Enter")
          await growing.filter({ hasText: "Half an" }).waitFor()
          await Effect.runPromise(restart(signal))
          await page.getByRole("button", { name: "Retry" }).nth(index).click()
          const answer = page.locator(".turn-agent", { hasText: `You said: Tell me of ${signal}` })
          await answer.locator(".answer-facts").waitFor()
          assert.strictEqual(await growing.count(), 0)
        }
      })
    }, Effect.provide(BrowserLayer.layer))
  )
}
