import { GatewayAnswer } from "@berth/api/gateway/GatewayApi"
import { ChallengeBody } from "@berth/api/gateway/payments/ChallengeMessage"
import { assert } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { Receipt } from "mppx"
import { Mppx, tempo } from "mppx/client"
import { execFile } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { eventually } from "../support/Eventually.ts"
import { interfaceCredential } from "../support/payments/PaymentFixtures.ts"
import type { FakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { memberAt } from "./MainJobSteps.ts"
import { makeShellEnvironment } from "./BerthProcess.ts"
import { model, SharedBerth, type SharedBerthPart } from "./SharedBerth.ts"
import * as Records from "./ServiceDatabase.ts"
import { signUpClient, openWebClient } from "./WebClient.ts"

const call = { model, messages: [{ role: "user", content: "Hello" }], max_tokens: 50 }
const path = "/api/v1/gateway"

// Located next to the module that the package name resolves to.
const mppx = join(dirname(createRequire(import.meta.url).resolve("mppx")), "bin.js")

/** Output and exit code of the mppx command line. */
const command = (args: ReadonlyArray<string>, environment: Readonly<Record<string, string>> = {}) =>
  Effect.async<{ readonly code: number; readonly text: string }>((resume) => {
    const env = { ...makeShellEnvironment(), NO_UPDATE_NOTIFIER: "1", ...environment }
    const child = execFile(
      process.execPath,
      [mppx, ...args],
      { env, timeout: 60_000, maxBuffer: 8 * 1024 * 1024 },
      (error, out, err) => {
        resume(Effect.succeed({ code: error === null ? 0 : Number(error.code ?? 1), text: `${out}${err}` }))
      }
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** The number of chats that reached the models. */
const chats = ({ received }: FakeOpenAi) => received.filter(({ path: of }) => of.endsWith("/chat/completions")).length

/** The gateway of the real program. */
export const gateway: SharedBerthPart = (it) => {
  it.scoped(
    "The gateway accepts payments of mppx's client and command line",
    Effect.fn(function* () {
      const { berth, network } = yield* SharedBerth
      const before = yield* network.received
      const account = yield* network.payer(1_000_000n)
      const client = Mppx.create({
        polyfill: false,
        methods: [tempo.charge({ account, getClient: () => network.client })]
      })
      const response = yield* Effect.promise(() =>
        client.fetch(`${berth.webUrl}${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-payment-method": "mpp" },
          body: JSON.stringify(call)
        })
      )
      const text = yield* Effect.promise(() => response.text())
      assert.strictEqual(response.status, 200, text)
      const receipt = Receipt.fromResponse(response)
      const answer = yield* Schema.decode(Schema.parseJson(GatewayAnswer))(text)
      assert.deepStrictEqual(answer.payment, { method: "mpp", receipt: receipt.reference })
      assert.strictEqual(yield* network.received, before + 10_000n)

      const key = generatePrivateKey()
      yield* network.give(privateKeyToAccount(key).address, 2_000_000n)
      const output = yield* command(
        [`${berth.webUrl}${path}`, "-J", JSON.stringify(call), "-H", "X-Payment-Method: mpp", "-r", network.url, "-i"],
        { MPPX_PRIVATE_KEY: key }
      )
      assert.strictEqual(output.code, 0, output.text)
      assert.strictEqual(yield* network.received, before + 20_000n)
    })
  )

  it.scoped(
    "The gateway passes the validator of mppx without another network",
    Effect.fn(function* () {
      const { berth } = yield* SharedBerth
      const url = `http://localhost:${berth.place.port}`
      const { text } = yield* command(["validate", url, "-H", "X-Payment-Method:mpp"])
      const lines = text.split("\n").map((line) => line.trim())
      assert.isAtLeast(lines.filter((line) => line.startsWith("✓")).length, 14, text)
      // The validator pays with money from a public faucet, which tests cannot reach.
      assert.deepStrictEqual(
        lines.filter((line) => line.startsWith("✗") && !line.startsWith("✗ Payment:")),
        []
      )
      // It expects a realm without a port.
      assert.deepStrictEqual(
        lines.filter((line) => line.startsWith("⚠") && !line.startsWith("⚠ Realm")),
        []
      )
    })
  )

  it.scoped(
    "The gateway charges and answers a call once, and charges a stream for what it delivered, when its process is killed",
    Effect.fn(function* () {
      const { berth, network, openai: upstream } = yield* SharedBerth
      const person = yield* signUpClient(berth.webUrl)
      const before = yield* network.received
      const stranger = yield* openWebClient(berth.webUrl)
      const requested = yield* stranger.raw("POST", path, { body: call, headers: { "x-payment-method": "mpp" } })
      const { mpp } = yield* Schema.decodeUnknown(ChallengeBody)(requested.body)
      const raw = yield* network.sign([{ to: mpp.recipient, amount: BigInt(mpp.amount) }])
      const byMachine = stranger.raw("POST", path, {
        body: call,
        headers: { authorization: interfaceCredential({ id: mpp.nonce }, raw).join("") }
      })
      const byCard = person.raw("POST", path, { body: call, headers: { "idempotency-key": "once" } })

      const reader = yield* signUpClient(berth.webUrl)
      upstream.respondWith({ type: "break-off", pieces: ["Half ", "a "], by: "hanging" })
      const streamed = yield* Effect.fork(Effect.exit(Stream.runDrain(reader.events(path, { ...call, stream: true }))))
      yield* eventually(Records.readDeliveredUnits(reader.userId), (units) => units === 1, {
        description: "the streamed cost",
        timeout: "60 seconds"
      })

      const seen = chats(upstream)
      upstream.respondWith({ type: "break-off", pieces: ["Half "], by: "hanging" })
      upstream.respondWith({ type: "break-off", pieces: ["Half "], by: "hanging" })
      const first = yield* Effect.fork(
        Effect.all([Effect.exit(byMachine), Effect.exit(byCard)], { concurrency: "unbounded" })
      )
      yield* eventually(
        Effect.sync(() => chats(upstream)),
        (current) => current >= seen + 2,
        { description: "both model calls", timeout: "60 seconds" }
      )
      const { server } = yield* berth.pids
      process.kill(server, "SIGKILL")
      yield* Fiber.join(first)
      yield* Fiber.join(streamed)
      yield* eventually(berth.pids, (pids) => pids.server !== server && pids.server > 0, {
        description: "another server",
        timeout: "60 seconds"
      })
      yield* berth.ready

      /** Waits until the lease of a killed process expires. */
      const answered = (asking: typeof byMachine) =>
        eventually(asking, ({ status }) => status === 200, { description: "the answer", timeout: "90 seconds" })
      const [paid, charged] = yield* Effect.all([answered(byMachine), answered(byCard)], { concurrency: "unbounded" })
      assert.strictEqual(memberAt(paid.body, "payment", "method"), "mpp")
      assert.strictEqual(memberAt(charged.body, "payment", "method"), "card")
      assert.strictEqual(yield* network.received, before + 10_000n)
      assert.containSubset(yield* byMachine, { status: 200, body: paid.body })
      assert.strictEqual(yield* network.received, before + 10_000n)
      assert.containSubset(yield* byCard, { status: 200, body: charged.body })
      assert.containSubset(yield* Records.readMessageAccounts(person.userId), {
        used: 1,
        booked: 1,
        open: 0,
        ledger: 1
      })
      const paidForStream = yield* eventually(Records.readMessageAccounts(reader.userId), ({ open }) => open === 0, {
        description: "the end of the stream's reservation",
        timeout: "90 seconds"
      })
      assert.containSubset(paidForStream, { used: 1, booked: 1, ledger: 1 })
    })
  )
}
