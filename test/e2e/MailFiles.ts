import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { parseMail } from "../support/MailText.ts"
import { repeatUntil } from "./BerthProcess.ts"
import { SharedBerth, type SharedBerthPart } from "./SharedBerth.ts"
import { makeAccount, openWebClient } from "./WebClient.ts"

/** Mail files of a service without a mail server; the tests' user is its first. */
export const mailFiles: SharedBerthPart = (it) => {
  it.effect(
    "Mail without a server is written to files, and its link to the log, in development",
    Effect.fn(function* () {
      const { berth } = yield* SharedBerth
      const visitor = yield* openWebClient(berth.webUrl)
      const account = makeAccount("reader")
      yield* visitor.register(account)
      const directory = join(berth.place.dataDirectory, "mail")
      const files = Effect.promise(() => readdir(directory).catch(() => []))
      yield* repeatUntil(Effect.map(files, (names) => names.some((name) => name.endsWith(".eml"))))
      const [file = ""] = (yield* files).filter((name) => name.endsWith(".eml"))
      const { headers: head, text } = parseMail(yield* Effect.promise(() => readFile(join(directory, file), "utf8")))
      assert.strictEqual(head.get("to"), account.email)
      assert.strictEqual(head.get("from"), "Berth <no-reply@localhost>")
      const link = /http:\S+/.exec(text)?.[0] ?? ""
      assert.isTrue(link.startsWith(`http://localhost:${berth.place.port}/api/auth/verify-email?token=`))
      yield* repeatUntil(Effect.map(berth.logs, (logs) => logs.includes(`"link":"${link}"`)))
    })
  )
}
