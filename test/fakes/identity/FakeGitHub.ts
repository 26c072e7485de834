import { Effect, type Scope } from "effect"
import { createHash, randomBytes } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { readFormBody, sendJson, respondWithFault, type ServerFault, startFakeServer } from "./FaultyServer.ts"

export interface GitHubAccount {
  readonly id: number
  readonly login: string
  readonly name: string | null
  readonly emails: ReadonlyArray<{ readonly email: string; readonly primary: boolean; readonly verified: boolean }>
}

export interface FakeGitHub {
  readonly origin: URL
  readonly client: { readonly id: string; readonly secret: string }
  /** Token exchanges, including failed ones. */
  readonly exchangeCount: () => number
  /** Sets the fault of an endpoint; null removes it. */
  readonly setFault: (path: "/login/oauth/access_token" | "/user" | "/user/emails", how: ServerFault | null) => void
}

interface Grant {
  readonly person: GitHubAccount
  readonly redirectUri: string
  readonly challenge: string | null
}

/**
 * GitHub's OAuth endpoints with its strictness: errors of the token endpoint are 200 with an `error`, codes are
 * single-use, and the API requires a user agent. The browser header `x-account` selects the login.
 */
export const makeFakeGitHub = (
  people: ReadonlyArray<GitHubAccount>,
  redirectUri: string
): Effect.Effect<FakeGitHub, never, Scope.Scope> =>
  Effect.gen(function* () {
    const client = { id: "Iv1.0123456789abcdef", secret: randomBytes(20).toString("hex") }
    const codes = new Map<string, Grant>()
    const tokens = new Map<string, GitHubAccount>()
    const faults = new Map<string, ServerFault>()
    let exchanges = 0

    const authorize = (url: URL, request: IncomingMessage, response: ServerResponse) => {
      const query = url.searchParams
      if (query.get("client_id") !== client.id) return sendJson(response, 404, { message: "Not Found" })
      const back = new URL(redirectUri)
      const state = query.get("state")
      if (state !== null) back.searchParams.set("state", state)
      const login = request.headers["x-account"]
      const person = people.find((one) => one.login === login)
      if (query.get("redirect_uri") !== redirectUri) back.searchParams.set("error", "redirect_uri_mismatch")
      else if (person === undefined) back.searchParams.set("error", "access_denied")
      else {
        const code = randomBytes(10).toString("hex")
        codes.set(code, { person, redirectUri, challenge: query.get("code_challenge") })
        back.searchParams.set("code", code)
      }
      response.writeHead(302, { location: back.href }).end()
    }

    const refusalOf = (form: URLSearchParams, grant: Grant | undefined) => {
      if (form.get("client_id") !== client.id || form.get("client_secret") !== client.secret)
        return "incorrect_client_credentials"
      if (grant === undefined) return "bad_verification_code"
      if (form.get("redirect_uri") !== grant.redirectUri) return "redirect_uri_mismatch"
      const verifier = form.get("code_verifier") ?? ""
      const challenge = createHash("sha256").update(verifier).digest("base64url")
      return grant.challenge !== null && grant.challenge !== challenge ? "bad_verification_code" : undefined
    }

    const exchange = async (request: IncomingMessage, response: ServerResponse) => {
      exchanges += 1
      const form = await readFormBody(request)
      const code = form.get("code") ?? ""
      const grant = codes.get(code)
      codes.delete(code)
      const refusal = refusalOf(form, grant)
      const token = `gho_${randomBytes(18).toString("base64url")}`
      if (refusal === undefined && grant !== undefined) tokens.set(token, grant.person)
      const body =
        refusal === undefined
          ? { access_token: token, token_type: "bearer", scope: "read:user,user:email" }
          : { error: refusal, error_description: "…", error_uri: "https://docs.example/" }
      if (request.headers.accept?.includes("application/json") === true) return sendJson(response, 200, body)
      response.writeHead(200, { "content-type": "application/x-www-form-urlencoded" })
      response.end(new URLSearchParams(body).toString())
    }

    const api = (url: URL, request: IncomingMessage, response: ServerResponse) => {
      if (request.headers["user-agent"] === undefined || request.headers["user-agent"] === "")
        return sendJson(response, 403, { message: "Request forbidden by administrative rules." })
      const person = tokens.get(/^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "")
      if (person === undefined) return sendJson(response, 401, { message: "Bad credentials" })
      const { emails, id, login, name } = person
      return sendJson(response, 200, url.pathname === "/user" ? { id, login, name, type: "User" } : emails)
    }

    const origin = yield* startFakeServer(() => (request, response) => {
      const url = new URL(request.url ?? "/", "http://localhost")
      const how = faults.get(url.pathname)
      if (how !== undefined) return respondWithFault(response, how)
      if (url.pathname === "/login/oauth/authorize") return authorize(url, request, response)
      if (url.pathname === "/login/oauth/access_token") {
        void exchange(request, response)
        return
      }
      return api(url, request, response)
    })
    return {
      origin,
      client,
      exchangeCount: () => exchanges,
      setFault: (path, how) => {
        if (how === null) faults.delete(path)
        else faults.set(path, how)
      }
    }
  })
