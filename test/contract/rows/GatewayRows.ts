import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { AgentNotFound } from "@berth/domain/agents/AgentErrors"
import type { Model } from "@berth/domain/ai/models/Model"
import { PluginFailed, PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { Duration, Effect, Stream } from "effect"
import { fakeModels, type ModelProvidersBehavior, ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import type { AgentTasks } from "@berth/domain/gateway/tasks/AgentTasks"
import type { Speech } from "@berth/domain/gateway/speech/Speech"
import { SpeechTest } from "@berth/infra/backend/SpeechTest"
import { FakeAgentTasks } from "../../fakes/FakeAgentTasks.ts"
import type { CallCondition, ErrorRow, ErrorRowFixturesService } from "../ErrorRow.ts"
import { machinePaymentHeaders, helloRequest } from "../GatewayPayments.ts"

const ai =
  (script: Partial<ModelProvidersBehavior>): CallCondition =>
  (effect) =>
    Effect.flatMap(ModelProvidersTest, ({ withBehavior }) => withBehavior(script)(effect))

const agentTasks =
  (run: AgentTasks["Type"]["run"]): CallCondition =>
  (effect) =>
    Effect.flatMap(FakeAgentTasks, ({ withBehavior }) => withBehavior({ run })(effect))

const synthesis =
  (synthesize: Speech["Type"]["synthesize"]): CallCondition =>
  (effect) =>
    Effect.flatMap(SpeechTest, ({ withBehavior }) => withBehavior({ synthesize })(effect))

const failing = (kind: ProviderFailed["kind"]) =>
  ai({
    chat: () =>
      Stream.fail(
        new ProviderFailed({ provider: "openai", kind, reason: "it said no", retryAfter: Duration.seconds(7) })
      )
  })
const cut = ai({ chat: () => Stream.make({ type: "delta", text: "Half " } as const) })
const broken = ai({ chat: () => Stream.die(new Error("hunter2 at /internal/x")) })
const nothing = ai({
  catalog: Effect.succeed(fakeModels.map((model): Model => ({ ...model, available: false })))
})

type Headers = Readonly<Record<string, string>>
interface More extends Pick<ErrorRow, "during" | "fields" | "members"> {
  readonly as?: (scene: ErrorRowFixturesService) => ErrorRowFixturesService["newcomer"] | undefined
  readonly headers?: Headers
  readonly body?: string
}

const row = (when: string, json: unknown, status: number, code: string, more: More = {}): ErrorRow => {
  const { as = ({ owner }: ErrorRowFixturesService) => owner, body, headers = {}, ...rest } = more
  return {
    when,
    route: "POST /api/v1/gateway",
    call: (scene) => {
      const who = as(scene)
      const sent = body === undefined ? { json } : { body }
      return { ...sent, headers, ...(who === undefined ? {} : { as: who }) }
    },
    status,
    code,
    ...rest
  }
}

const nobody = { as: () => undefined }
const machine = { ...nobody, headers: machinePaymentHeaders }
const required = { members: { error: "payment_required" } }
const internal = { members: { error: "internal" } }
const noPlugin = { members: { error: "no_plugin" } }
const typed = { "content-type": "application/json" }

export const gatewayRows: ReadonlyArray<ErrorRow> = [
  row("nobody is signed in", helloRequest, 401, "unauthorized", { ...nobody, members: { error: "Unauthorized" } }),
  row("a session is of nobody", helloRequest, 401, "unauthorized", {
    ...nobody,
    headers: { cookie: "berth_session=x" }
  }),
  row("nobody is signed in and the body is no JSON", null, 401, "unauthorized", {
    ...nobody,
    headers: typed,
    body: "{bad"
  }),
  row("nobody is signed in and the messages are missing", {}, 401, "unauthorized", nobody),
  row("the plugin is unknown", { ...helloRequest, plugin: "video" }, 502, "no_plugin", noPlugin),
  row("the plugin of the header is unknown", { ...helloRequest, plugin: "agent" }, 502, "no_plugin", {
    ...noPlugin,
    headers: { "x-plugin-id": "constructor" }
  }),
  row("a machine asks for an unknown plugin", { ...helloRequest, plugin: "" }, 502, "no_plugin", {
    ...machine,
    ...noPlugin
  }),
  row("nobody asks for an unknown plugin", { plugin: "__proto__" }, 502, "no_plugin", { ...nobody, ...noPlugin }),
  row("the plugin is no text", { ...helloRequest, plugin: 5 }, 400, "invalid_request", { fields: ["plugin"] }),
  row("the payment method is unknown", helloRequest, 400, "invalid_request", {
    headers: { "x-payment-method": "cash" },
    fields: ["x-payment-method"]
  }),
  row("the body is no JSON", null, 400, "body_malformed", { headers: typed, body: "{bad" }),
  row("the type of the body is another", null, 415, "media_type_unsupported", {
    headers: { "content-type": "text/plain" },
    body: "hello"
  }),
  row("the messages are missing", {}, 400, "invalid_request", { fields: ["messages"] }),
  row("a machine leaves out the messages", {}, 400, "invalid_request", { ...machine, fields: ["messages"] }),
  row("there are no messages", { messages: [] }, 400, "invalid_request", { fields: ["messages"] }),
  row("a role is unknown", { messages: [{ role: "robot", content: "x" }] }, 400, "invalid_request", {
    fields: ["messages.0.role"]
  }),
  row(
    "every option is wrong",
    { ...helloRequest, temperature: 3, top_p: 2, max_tokens: 0, stream: "yes" },
    400,
    "invalid_request",
    { fields: ["temperature", "top_p", "max_tokens", "stream"] }
  ),
  row("the model is unknown", { ...helloRequest, model: "nobody/none" }, 400, "invalid_request", { fields: ["model"] }),
  row("an agent has no messages", { plugin: "agent" }, 400, "invalid_request", { fields: ["messages"] }),
  row("an agent is not the caller's", { ...helloRequest, plugin: "agent", agentId: "agt_0" }, 404, "agent_not_found", {
    during: agentTasks(() => Stream.fail(new AgentNotFound()))
  }),
  row("an agent is not up", { ...helloRequest, plugin: "agent", agentId: "agt_0" }, 400, "invalid_request", {
    during: agentTasks(() =>
      Stream.fail(new PluginInputInvalid({ field: "agentId", reason: "is an agent that is not up" }))
    ),
    fields: ["agentId"]
  }),
  row("a text to speak is missing", { plugin: "tts" }, 400, "invalid_request", { fields: ["text"] }),
  row("a text to speak is too long", { plugin: "tts", text: "x".repeat(4_097), speed: 9 }, 400, "invalid_request", {
    fields: ["text", "speed"]
  }),
  row("a recording is missing", { plugin: "stt" }, 400, "invalid_request", { fields: ["audio"] }),
  row("a recording is no base64", { plugin: "stt", audio: "%%" }, 400, "invalid_request", { fields: ["audio"] }),
  row("a recording is empty", { plugin: "stt", audio: "data:audio/wav;base64," }, 400, "invalid_request", {
    fields: ["audio"]
  }),
  row(
    "the body is too large for all but a recording",
    { messages: [{ role: "user", content: "x".repeat(1_100_000) }] },
    413,
    "body_too_large"
  ),
  row("a machine has not paid", helloRequest, 402, "payment_required", { ...machine, ...required }),
  row("a machine shows what is no credential", helloRequest, 402, "payment_required", {
    ...nobody,
    headers: { authorization: "payment hello" },
    members: { error: "payment_required", type: "https://paymentauth.org/problems/malformed-credential" }
  }),
  row("a machine shows two credentials", helloRequest, 400, "payment_required", {
    ...nobody,
    headers: { authorization: "Payment abc, Payment def" },
    ...required
  }),
  row("neither units nor credits are left", helloRequest, 402, "payment_required", {
    as: ({ spent }) => spent,
    ...required
  }),
  row("they are not for a card", helloRequest, 402, "payment_required", {
    as: ({ spent }) => spent,
    headers: { "x-payment-method": "card" },
    ...required
  }),
  row("no model is available", helloRequest, 500, "plugin_failed", { during: nothing, ...internal }),
  row("the provider is at its limit", helloRequest, 500, "plugin_failed", {
    during: failing("rate-limited"),
    ...internal
  }),
  row("the provider takes too long", helloRequest, 500, "plugin_failed", { during: failing("timeout"), ...internal }),
  row("the answer is cut", helloRequest, 500, "plugin_failed", { during: cut, ...internal }),
  row("the models break", helloRequest, 500, "plugin_failed", { during: broken, ...internal }),
  row("an agent fails", { ...helloRequest, plugin: "agent" }, 500, "plugin_failed", {
    during: agentTasks(() => Stream.fail(new PluginFailed({ reason: "it gave up" }))),
    ...internal
  }),
  row("an agent says nothing", { ...helloRequest, plugin: "agent" }, 500, "plugin_failed", {
    during: agentTasks(() => Stream.empty),
    ...internal
  }),
  row("speech fails", { plugin: "tts", text: "Hello" }, 500, "plugin_failed", {
    during: synthesis(() => new PluginFailed({ reason: "no provider speaks" })),
    ...internal
  }),
  row(
    "an image goes to a model without image input",
    {
      model: "openai/gpt-4",
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/cat.png" } }] }]
    },
    400,
    "images_not_supported",
    { members: { model: "openai/gpt-4" } }
  ),
  row("the key of a repetition is too long", helloRequest, 400, "idempotency_key_invalid", {
    headers: { "idempotency-key": "x".repeat(256) }
  })
]
