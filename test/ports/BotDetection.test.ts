import { BotDetection, BotBlocked, type Visitor } from "@berth/domain/accounts/bot-detection/BotDetection"
import * as HeuristicBotDetection from "@berth/infra/bots/HeuristicBotDetection"
import * as DisabledBotDetection from "@berth/infra/bots/DisabledBotDetection"
import * as TurnstileBotDetection from "@berth/infra/bots/TurnstileBotDetection"
import { FetchHttpClient } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Either, Layer, Option, Redacted, type Scope } from "effect"
import { browserHeaders, browserHeadersWithoutMetadata, programHeaders } from "../support/BrowserHeaders.ts"
import { freePort } from "../support/FreePort.ts"
import { recordLogs } from "../support/RecordedTelemetry.ts"
import { turnstileSecret, makeFakeTurnstile } from "../fakes/FakeTurnstile.ts"

let challenges = 0
/** A token unused in this process. */
const newToken = () => {
  challenges += 1
  return `passed-${challenges}`
}

const visitor = (headers: Visitor["headers"], token?: string): Visitor => ({
  headers,
  address: "192.0.2.1",
  token: Effect.succeed(Option.map(Option.fromNullable(token), (text) => Redacted.make(text)))
})

const passes = (visit: Visitor) =>
  Effect.gen(function* () {
    const verdict = yield* Effect.either((yield* BotDetection).check(visit))
    if (Either.isLeft(verdict)) assert.instanceOf(verdict.left, BotBlocked)
    return Either.isRight(verdict)
  })

const turnstile = (url: URL, timeout = Duration.seconds(5)) =>
  TurnstileBotDetection.layer({ url, secret: Redacted.make(turnstileSecret), timeout }).pipe(
    Layer.provide(FetchHttpClient.layer)
  )

const kinds: ReadonlyArray<readonly [string, Effect.Effect<Layer.Layer<BotDetection>, never, Scope.Scope>]> = [
  ["off", Effect.succeed(DisabledBotDetection.layer)],
  ["heuristic", Effect.succeed(HeuristicBotDetection.layer)],
  ["turnstile", Effect.map(makeFakeTurnstile, ({ url }) => turnstile(url))]
]

for (const [kind, layer] of kinds)
  describe(`BotDetection ${kind}`, () => {
    it.scopedLive(`BotDetection by ${kind} admits people`, () =>
      Effect.gen(function* () {
        const detection = yield* layer
        for (const [name, headers] of Object.entries({
          ...browserHeaders,
          "Safari 15": { ...browserHeadersWithoutMetadata["Safari 15"], origin: "https://berth.example" }
        }))
          assert.isTrue(yield* Effect.provide(passes(visitor(headers, newToken())), detection), name)
      })
    )
  })

describe("BotDetection heuristic", () => {
  for (const [name, headers] of Object.entries(programHeaders))
    it.effect(`The heuristic BotDetection rejects ${name}`, () =>
      Effect.gen(function* () {
        assert.isFalse(yield* Effect.provide(passes(visitor(headers)), HeuristicBotDetection.layer))
      })
    )

  for (const [name, headers] of Object.entries(browserHeadersWithoutMetadata))
    it.effect(`The heuristic BotDetection accepts the origin of a page in place of metadata: ${name}`, () =>
      Effect.gen(function* () {
        const from = { ...headers, origin: "http://berth.example" }
        assert.isTrue(yield* Effect.provide(passes(visitor(from)), HeuristicBotDetection.layer))
        assert.isFalse(yield* Effect.provide(passes(visitor(headers)), HeuristicBotDetection.layer))
      })
    )

  it.effect("The heuristic BotDetection requires no challenge", () =>
    Effect.gen(function* () {
      const visit = { ...visitor(browserHeaders["Firefox on Linux"]), token: Effect.dieMessage("nobody looks here") }
      assert.isTrue(yield* Effect.provide(passes(visit), HeuristicBotDetection.layer))
    })
  )
})

describe("BotDetection turnstile", () => {
  it.scopedLive("The Turnstile BotDetection sends secret, token and address, and no trace headers", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* makeFakeTurnstile
      const token = newToken()
      assert.isTrue(yield* Effect.provide(Effect.withSpan(passes(visitor({}, token)), "test"), turnstile(url)))
      assert.deepStrictEqual(yield* requests, [
        { secret: turnstileSecret, response: token, remoteip: "192.0.2.1", traced: false }
      ])
    })
  )

  it.scopedLive("The Turnstile BotDetection rejects missing and malformed tokens without a request", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* makeFakeTurnstile
      for (const token of [undefined, "", "x".repeat(2049)])
        assert.isFalse(yield* Effect.provide(passes(visitor(browserHeaders["Safari on a Mac"], token)), turnstile(url)))
      assert.deepStrictEqual(yield* requests, [])
    })
  )

  it.scopedLive("The Turnstile BotDetection rejects failed challenges and repeated tokens", () =>
    Effect.gen(function* () {
      const { url } = yield* makeFakeTurnstile
      const token = newToken()
      const seen = yield* Effect.forEach(["failed", token, token], (one) => passes(visitor({}, one))).pipe(
        Effect.provide(turnstile(url))
      )
      assert.deepStrictEqual(seen, [false, true, false])
      const shared = newToken()
      const atOnce = yield* Effect.replicateEffect(passes(visitor({}, shared)), 12, { concurrency: "unbounded" }).pipe(
        Effect.provide(turnstile(url))
      )
      assert.strictEqual(atOnce.filter((passed) => passed).length, 1)
    })
  )

  const broken = [
    { status: 500, body: "{}" },
    { status: 200, body: "not JSON hunter2" },
    { status: 200, body: '{"success":"true"}' },
    { status: 200, body: "{}" },
    { status: 302, body: '{"success":true}' },
    { status: 403, body: '{"success":true}' }
  ]
  for (const answer of broken)
    it.scopedLive(`The Turnstile BotDetection rejects requests after ${answer.status} ${answer.body}`, () =>
      Effect.gen(function* () {
        const { respondWith, url } = yield* makeFakeTurnstile
        yield* respondWith(answer)
        const { layer: logger, lines } = recordLogs()
        const judged = passes(visitor({}, newToken())).pipe(Effect.provide(turnstile(url)), Effect.provide(logger))
        assert.isFalse(yield* judged)
        assert.isAtLeast(lines.length, 1)
        assert.notMatch(lines.join(), /hunter2|passed-/)
      })
    )

  it.scopedLive("The Turnstile BotDetection rejects requests when Turnstile is unreachable or slow", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const judged = passes(visitor({}, newToken()))
      assert.isFalse(yield* Effect.provide(judged, turnstile(new URL(`http://127.0.0.1:${port}/`))))
      const { respondWith, url } = yield* makeFakeTurnstile
      yield* respondWith("nothing")
      // Uninterruptible, as in a request handler.
      assert.isFalse(yield* Effect.uninterruptible(Effect.provide(judged, turnstile(url, Duration.millis(100)))))
    })
  )
})
