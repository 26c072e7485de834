import { assert } from "@effect/vitest"
import { Effect, Option } from "effect"
import { ownerKey } from "../fakes/models/FakeOpenAi.ts"
import { memberAt, textOrEmpty } from "./MainJobSteps.ts"
import { readAllRuntimeTraces, readProcessEnvironment } from "./RuntimeProcesses.ts"
import * as Records from "./ServiceDatabase.ts"
import { SharedBerth, type SharedBerthPart } from "./SharedBerth.ts"
import { ownerWithRunningAgent } from "./UpstreamModels.ts"

const wrongKey = "sk-a-key-of-nobody-93ab"

const owner = Effect.map(ownerWithRunningAgent, ({ raw, userId }) => ({
  say: (message: string) => raw("POST", "/api/agent", { body: { message } }),
  setKey: (value: string) => raw("POST", "/api/agent", { body: { action: "set-credential", key: "openai", value } }),
  used: Effect.map(Records.readMessageAccounts(userId), (account) => account.used)
}))

/** The upstream accepts the platform's key and one owner's. */
export const ownModelKeys: SharedBerthPart = (it) => {
  it.effect(
    "An owner's model key reaches only its provider, in that owner's chats, from the next message on",
    Effect.fn(function* () {
      const { berth, openai: upstream } = yield* SharedBerth
      const { apiKey: platformKey } = upstream
      const [ada, bob, eve] = [yield* owner, yield* owner, yield* owner]
      // Calls before the change put the owners' keys into the cache.
      yield* Effect.forEach([ada, eve], ({ say }) => say("A word before the key"))
      assert.containSubset(yield* ada.setKey(ownerKey), { status: 200, body: { configured: true } })
      assert.containSubset(yield* ada.say("Are you there?"), {
        status: 200,
        body: { reply: "You said: Are you there?" }
      })
      assert.containSubset(yield* eve.setKey(wrongKey), { status: 200 })
      assert.include(
        textOrEmpty(memberAt((yield* eve.say("Are you there?")).body, "message")),
        "your openai key was refused"
      )
      const before = yield* Effect.all([ada.used, bob.used])
      const answers = [
        yield* ada.say("A word of Ada's"),
        yield* bob.say("A word of Bob's"),
        yield* eve.say("A word of Eve's"),
        yield* ada.say("A last word of Ada's")
      ]
      const [first, ofBob, ofEve, last] = answers
      assert.containSubset(first, { status: 200, body: { reply: "You said: A word of Ada's" } })
      assert.containSubset(ofBob, { status: 200, body: { reply: "You said: A word of Bob's" } })
      assert.containSubset(last, { status: 200, body: { reply: "You said: A last word of Ada's" } })
      assert.containSubset(ofEve, { status: 500, body: { code: "message_unanswered" } })
      assert.include(textOrEmpty(memberAt(ofEve?.body, "message")), "your openai key was refused")

      // Turns on own keys are free.
      assert.deepStrictEqual(yield* Effect.all([ada.used, bob.used]), [before[0], before[1] + 1])

      const shownFor = (words: string) => [
        ...new Set(
          upstream.received
            .filter(({ body }) => JSON.stringify(body ?? null).includes(words))
            .map(({ headers }) => headers["authorization"])
        )
      ]
      assert.deepStrictEqual(shownFor("word of Ada's"), [`Bearer ${ownerKey}`])
      assert.deepStrictEqual(shownFor("word of Bob's"), [`Bearer ${platformKey}`])
      assert.deepStrictEqual(shownFor("word of Eve's"), [`Bearer ${wrongKey}`])

      const instances = yield* readAllRuntimeTraces(berth.place.dataDirectory)
      const environments = yield* Effect.forEach(
        instances.flatMap(({ pid }) => Option.toArray(pid)),
        readProcessEnvironment
      )
      assert.isNotEmpty(environments)
      const everywhere = [
        ...environments,
        ...instances.map(({ log }) => log),
        ...answers.map(({ body }) => JSON.stringify(body)),
        yield* berth.logs
      ].join("\n")
      for (const key of [ownerKey, wrongKey, platformKey]) assert.isFalse(everywhere.includes(key))
    })
  )
}
