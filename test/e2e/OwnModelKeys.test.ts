import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { type FakeOpenAi, makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { readAllRuntimeTraces, readProcessEnvironment } from "./RuntimeProcesses.ts"
import { memberAt, textOrEmpty } from "./MainJobSteps.ts"
import { type Berth, startBerth } from "./BerthProcess.ts"
import * as Records from "./ServiceDatabase.ts"
import { signUpClient } from "./WebClient.ts"

const platformKey = "sk-the-platform's-own-7d21"
const wrongKey = "sk-a-key-of-nobody-93ab"

class Service extends Context.Tag("@berth/test/OwnerKeysService")<
  Service,
  { readonly berth: Berth; readonly upstream: FakeOpenAi }
>() {}

/** An upstream that accepts one owner's key and rejects the platform's. */
const service = Layer.unwrapScoped(
  Effect.gen(function* () {
    const databaseUrl = yield* migratedDatabase
    const upstream = yield* makeFakeOpenAi()
    const berth = yield* startBerth({
      databaseUrl,
      environment: {
        OPENAI_BASE_URL: upstream.baseUrl,
        OPENAI_API_KEY: platformKey,
        LIMIT_REGISTER: "1000/1h",
        // The discard port: tests do not read the public model list.
        OPENROUTER_BASE_URL: "http://127.0.0.1:9/api/v1"
      }
    })
    return Layer.merge(Layer.succeed(Service, { berth, upstream }), Records.layer(databaseUrl))
  })
)

const ownerWithRunningAgent = Effect.gen(function* () {
  const { berth } = yield* Service
  const person = yield* signUpClient(berth.webUrl)
  yield* Records.insertSubscription(person.userId, "starter")
  const { id } = yield* person.provision("Ada", "openai/gpt-4o-mini")
  yield* person.untilRunning(id)
  const say = (message: string) => person.raw("POST", "/api/agent", { body: { message } })
  const setKey = (value: string) =>
    person.raw("POST", "/api/agent", { body: { action: "set-credential", key: "openai", value } })
  const used = Effect.map(Records.readMessageAccounts(person.userId), (account) => account.used)
  return { say, setKey, used }
})

layer(service, { timeout: "120 seconds", excludeTestServices: true })("an owner's own model key", (it) => {
  it.effect(
    "An owner's model key reaches only its provider, in that owner's chats, from the next message on",
    Effect.fn(function* () {
      const { berth, upstream } = yield* Service
      const [ada, bob, eve] = [yield* ownerWithRunningAgent, yield* ownerWithRunningAgent, yield* ownerWithRunningAgent]
      // Calls before the change put the owners' keys into the cache.
      yield* Effect.forEach([ada, eve], ({ say }) => say("A word before the key"))
      assert.containSubset(yield* ada.setKey(upstream.apiKey), { status: 200, body: { configured: true } })
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
      assert.containSubset(last, { status: 200, body: { reply: "You said: A last word of Ada's" } })
      assert.notStrictEqual(textOrEmpty(memberAt(ofBob?.body, "reply") ?? ""), "You said: A word of Bob's")
      assert.containSubset(ofEve, { status: 500, body: { code: "message_unanswered" } })
      assert.include(textOrEmpty(memberAt(ofEve?.body, "message")), "your openai key was refused")

      // Turns on own keys are free.
      assert.deepStrictEqual(yield* Effect.all([ada.used, bob.used]), [
        before[0],
        before[1] + (ofBob?.status === 200 ? 1 : 0)
      ])

      const shownFor = (words: string) => [
        ...new Set(
          upstream.received
            .filter(({ body }) => JSON.stringify(body ?? null).includes(words))
            .map(({ headers }) => headers["authorization"])
        )
      ]
      assert.deepStrictEqual(shownFor("word of Ada's"), [`Bearer ${upstream.apiKey}`])
      // The platform's key may have been rejected and skipped before.
      assert.deepStrictEqual(
        shownFor("word of Bob's").filter((shown) => shown !== `Bearer ${platformKey}`),
        []
      )
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
      for (const key of [upstream.apiKey, wrongKey, platformKey]) assert.isFalse(everywhere.includes(key))
    })
  )
})
