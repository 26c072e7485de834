import { Effect, type Scope } from "effect"
import { createServer } from "node:http"
import { listenLocally } from "../support/LocalServer.ts"

interface SiteverifyRequest {
  readonly secret: string
  readonly response: string
  readonly remoteip: string
  readonly traced: boolean
}

interface FakeTurnstile {
  readonly url: URL
  readonly requests: Effect.Effect<ReadonlyArray<SiteverifyRequest>>
  /** Sets the response to every request; null restores the behavior of Turnstile. */
  readonly respondWith: (
    answer: { readonly status: number; readonly body: string } | "nothing" | null
  ) => Effect.Effect<void>
}

export const turnstileSecret = "turnstile-secret-hunter2"

/** Turnstile's siteverify over HTTP: a token that begins with `passed-` is valid once. */
export const makeFakeTurnstile: Effect.Effect<FakeTurnstile, never, Scope.Scope> = Effect.gen(function* () {
  const requests: Array<SiteverifyRequest> = []
  const used = new Set<string>()
  const state: { answer: { readonly status: number; readonly body: string } | "nothing" | null } = { answer: null }

  const verdict = (form: URLSearchParams) => {
    const refuse = (code: string) => ({ success: false, "error-codes": [code], messages: [] })
    const token = form.get("response") ?? ""
    if (form.get("secret") !== turnstileSecret) return refuse("invalid-input-secret")
    if (token === "") return refuse("missing-input-response")
    if (!token.startsWith("passed-")) return refuse("invalid-input-response")
    if (used.has(token)) return refuse("timeout-or-duplicate")
    used.add(token)
    return { success: true, challenge_ts: "2026-03-01T12:00:00Z", hostname: "berth.example", "error-codes": [] }
  }

  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.once("end", () => {
      const form = new URLSearchParams(Buffer.concat(chunks).toString("utf8"))
      requests.push({
        secret: form.get("secret") ?? "",
        response: form.get("response") ?? "",
        remoteip: form.get("remoteip") ?? "",
        traced: "traceparent" in request.headers || "b3" in request.headers
      })
      const { answer } = state
      if (answer === "nothing") return
      response
        .writeHead(answer?.status ?? 200, { "content-type": "application/json" })
        .end(answer === null ? JSON.stringify(verdict(form)) : answer.body)
    })
  })
  const { origin } = yield* listenLocally(server)
  return {
    url: new URL(`${origin}/turnstile/v0/siteverify`),
    requests: Effect.sync(() => [...requests]),
    respondWith: (answer) =>
      Effect.sync(() => {
        state.answer = answer
      })
  }
})
