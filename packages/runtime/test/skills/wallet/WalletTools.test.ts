import { withoutOwnerTools } from "@berth/runtime/skills/Toolbox"
import * as BackendCalls from "@berth/runtime/skills/BackendCalls"
import { makeA2aTools } from "@berth/runtime/skills/a2a/A2aTools"
import { makeWalletTools } from "@berth/runtime/skills/wallet/WalletTools"
import { NodeHttpClient } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { listenLocally } from "../../../../../test/support/LocalServer.ts"
import { sampleAgent } from "../../AgentSamples.ts"

const turn = { ...sampleAgent, messageId: "msg_1" }

/** The tools over a backend with this response, and its recorded requests. */
const makeTools = (status: number, body: unknown) =>
  Effect.gen(function* () {
    const received: Array<readonly [string | undefined, string | undefined, unknown]> = []
    const server = createServer((request, response) => {
      void text(request).then((source) => {
        received.push([request.url, request.headers.authorization, JSON.parse(source)])
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
      })
    })
    const { origin } = yield* listenLocally(server)
    const access = { backendUrl: origin, token: Redacted.make("own") }
    const context = yield* Layer.build(Layer.provide(BackendCalls.layer(access), NodeHttpClient.layer))
    const tools = [
      ...makeWalletTools(Context.get(context, BackendCalls.WalletBackend)),
      ...makeA2aTools(Context.get(context, BackendCalls.A2aBackend))
    ]
    const run = (name: string, args: unknown) => {
      const tool = tools.find(({ spec }) => spec.name === name)
      return tool === undefined ? assert.fail(name) : tool.run(JSON.stringify(args), turn)
    }
    return { received, run }
  })

it.scopedLive("WalletTools send the documented arguments of a call alone, with the turn and the runtime token", () =>
  Effect.gen(function* () {
    const { received, run } = yield* makeTools(200, { text: "done" })
    const raised = { perCall: "999", approved: true, agentId: "agt_other", messageId: "msg_other" }
    assert.strictEqual(yield* run("send_usdc", { to: "0xab", amount: "1", ...raised }), "done")
    yield* run("x402_payments", { url: "https://example.com", ...raised })
    yield* run("x402_payments", { url: "https://example.com", body: "{}" })
    yield* run("get_balance", raised)
    const url = "https://example.com"
    assert.deepStrictEqual(
      received,
      [
        { action: "send_usdc", to: "0xab", amount: "1" },
        { action: "x402_payments", url, method: "GET", body: null },
        { action: "x402_payments", url, method: "POST", body: "{}" },
        { action: "get_balance" }
      ].map((call) => ["/internal/runtime/wallet", "Bearer own", { agentId: "agt_1", messageId: "msg_1", call }])
    )
  })
)

it.scopedLive("WalletTools report the backend's reason to the model, and send each call once", () =>
  Effect.gen(function* () {
    const refused = yield* makeTools(400, { error: "Wallet call failed", message: "The limit is exceeded." })
    const error = yield* Effect.flip(refused.run("send_usdc", { to: "0xab", amount: "1" }))
    assert.strictEqual(error.reason, "The limit is exceeded.")
    const broken = yield* makeTools(503, "no")
    assert.include((yield* Effect.flip(broken.run("get_balance", {}))).reason, "status 503")
    assert.deepStrictEqual([refused.received.length, broken.received.length], [1, 1])
  })
)

it.scopedLive("A2aTools send only the model's arguments, without the chain of the turn", () =>
  Effect.gen(function* () {
    const { received, run } = yield* makeTools(200, { text: "done" })
    const forged = { depth: 0, path: [], from: "agt_other", parentTurn: "msg_other", messageId: "msg_other" }
    const [to, skill, tool] = ["helper", "calculator", "calculate"]
    assert.strictEqual(yield* run("send_message", { to, message: "hello", ...forged }), "done")
    yield* run("send_message", { to, message: "hello", wait: false, urgent: true })
    yield* run("delegate_task", { to, task: "work", budget: 5, ...forged })
    yield* run("delegate_skill", { to, skill, tool, arguments: '{"expression":"6*7"}' })
    yield* run("list_agents", forged)
    assert.deepStrictEqual(
      received,
      [
        { action: "send", to, mode: "request", message: "hello" },
        { action: "send", to, mode: "notify", message: "hello", priority: "high" },
        { action: "send", to, mode: "delegate", message: "work", budgetUnits: 5 },
        {
          action: "send",
          to,
          mode: "delegate",
          message: "",
          skill,
          tool,
          arguments: { expression: "6*7" },
          budgetUnits: 1
        },
        { action: "list_agents" }
      ].map((call) => ["/internal/runtime/a2a", "Bearer own", { agentId: "agt_1", messageId: "msg_1", call }])
    )
    const broken = yield* Effect.flip(run("delegate_skill", { to, skill, tool, arguments: "6*7" }))
    assert.include(broken.reason, "must be a JSON object")
  })
)

it("People of a messaging channel meet an agent without the wallet skill", () => {
  const skill = {
    id: "wallet",
    name: "Wallet",
    description: "Pays.",
    instructions: "",
    tools: ["get_balance", "send_usdc", "x402_payments"]
  }
  assert.deepStrictEqual(withoutOwnerTools({ ...sampleAgent, skills: [skill] }).skills, [])
})
