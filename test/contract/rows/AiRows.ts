import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { Effect, Stream } from "effect"
import { fakeModels, type ModelProvidersBehavior, ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import type { CallCondition, ErrorRow } from "../ErrorRow.ts"

const doing =
  (script: Partial<ModelProvidersBehavior>): CallCondition =>
  (effect) =>
    Effect.flatMap(ModelProvidersTest, ({ withBehavior }) => withBehavior(script)(effect))

const nothingAvailable = doing({
  catalog: Effect.succeed(fakeModels.map((model) => ({ ...model, available: false })))
})
const catalogBroken = doing({ catalog: Effect.die(new Error("hunter2")) })
const nobodyWell = doing({ healthy: () => Effect.succeed(false) })
const failing = doing({
  chat: () => Stream.fail(new ProviderFailed({ provider: "openai", kind: "overloaded", reason: "it is overloaded" }))
})

const ai = (
  route: ErrorRow["route"],
  when: string,
  call: { readonly json?: unknown; readonly path?: string },
  status: number,
  code: string,
  more: Pick<ErrorRow, "during" | "fields" | "members"> = {}
): ErrorRow => ({ when, listener: "backend", route, call: () => call, status, code, ...more })

const messages = [{ role: "user", content: "hello" }]

const chat = (when: string, json: unknown, status: number, code: string, more?: Parameters<typeof ai>[5]) =>
  ai("POST /api/ai/chat", when, { json }, status, code, more)
const estimate = (when: string, json: unknown, status: number, code: string, more?: Parameters<typeof ai>[5]) =>
  ai("POST /api/ai/estimate-cost", when, { json }, status, code, more)

export const aiRows: ReadonlyArray<ErrorRow> = [
  ai("GET /api/ai/health", "no provider can be reached", {}, 503, "ai_service_unavailable", {
    during: nobodyWell,
    members: { status: "error" }
  }),
  ai("GET /api/ai/models", "the catalog fails", {}, 500, "internal", { during: catalogBroken }),
  ai(
    "GET /api/ai/models/:provider",
    "there is no such provider",
    { path: "/api/ai/models/nobody" },
    404,
    "provider_not_found"
  ),
  ai("POST /api/ai/models/select", "no model is available", { json: {} }, 404, "models_unavailable", {
    during: nothingAvailable
  }),
  ai("POST /api/ai/models/select", "the types are wrong", { json: { taskType: 1 } }, 400, "invalid_request", {
    fields: ["taskType"]
  }),
  chat("the messages are missing", {}, 400, "invalid_request", { fields: ["messages"] }),
  chat("there are no messages", { messages: [] }, 400, "invalid_request", { fields: ["messages"] }),
  chat("the messages are no list", { messages: "hello" }, 400, "invalid_request", { fields: ["messages"] }),
  chat("a role is unknown", { messages: [{ role: "tool", content: "x" }] }, 400, "invalid_request", {
    fields: ["messages.0.role"]
  }),
  chat("a message has no content", { messages: [{ role: "user" }] }, 400, "invalid_request", {
    fields: ["messages.0.content"]
  }),
  chat("the figures are out of range", { messages, temperature: 3, top_p: 2, max_tokens: 0 }, 400, "invalid_request", {
    fields: ["temperature", "top_p", "max_tokens"]
  }),
  chat("no model is available", { messages }, 404, "models_unavailable", { during: nothingAvailable }),
  chat("there is no such model", { messages, model: "nobody/nothing" }, 404, "model_not_found", {
    members: { model: "nobody/nothing" }
  }),
  chat("every provider fails", { messages }, 500, "provider_failed", { during: failing }),
  estimate("nothing is given", {}, 400, "invalid_request", { fields: ["model", "inputTokens", "outputTokens"] }),
  estimate("the model is missing", { inputTokens: 1, outputTokens: 1 }, 400, "invalid_request", { fields: ["model"] }),
  estimate("the model is empty", { model: "", inputTokens: 1, outputTokens: 1 }, 400, "invalid_request", {
    fields: ["model"]
  }),
  estimate("the input is missing", { model: "gpt-4", outputTokens: 1 }, 400, "invalid_request", {
    fields: ["inputTokens"]
  }),
  estimate("the output is missing", { model: "gpt-4", inputTokens: 1 }, 400, "invalid_request", {
    fields: ["outputTokens"]
  }),
  estimate("a count is a text", { model: "gpt-4", inputTokens: "1", outputTokens: 1 }, 400, "invalid_request", {
    fields: ["inputTokens"]
  }),
  estimate("the input is negative", { model: "gpt-4", inputTokens: -1, outputTokens: 1 }, 400, "token_count_invalid", {
    members: { field: "inputTokens" }
  }),
  estimate("the output is negative", { model: "gpt-4", inputTokens: 1, outputTokens: -1 }, 400, "token_count_invalid", {
    members: { field: "outputTokens" }
  }),
  estimate(
    "the input has no finite cost",
    { model: "gpt-4", inputTokens: 1.7e308, outputTokens: 1 },
    400,
    "token_count_invalid",
    {
      members: { field: "inputTokens" }
    }
  ),
  estimate("there is no such model", { model: "nobody", inputTokens: 1, outputTokens: 1 }, 404, "model_not_found")
]
