import { assert } from "vitest"
import { Effect, Option } from "effect"
import { type HttpCallResponse, sendHttpCall } from "../HttpCall.ts"
import { type AppCall, TestApp } from "../TestApp.ts"

/** The cookies that a response sets, by name; a cleared one is empty. */
export const parseSetCookies = ({ headers }: HttpCallResponse): ReadonlyMap<string, string> =>
  new Map(
    (headers["set-cookie"] ?? []).map((line) => {
      const [pair = ""] = line.split(";")
      const at = pair.indexOf("=")
      return [pair.slice(0, at), pair.slice(at + 1)]
    })
  )

const headerOf = (cookies: ReadonlyMap<string, string>) =>
  [...cookies].flatMap(([name, value]) => (value === "" ? [] : [`${name}=${value}`])).join("; ")

const merged = (before: ReadonlyMap<string, string>, answer: HttpCallResponse) =>
  new Map([...before, ...parseSetCookies(answer)])

/** Signs in at the provider; returns the redirect back to the service. */
export const authorizeAtProvider = (location: string, account: string): Effect.Effect<URL> =>
  Effect.gen(function* () {
    const { origin } = new URL(location)
    let at = new URL(location)
    let cookies: ReadonlyMap<string, string> = new Map()
    for (let hops = 0; hops < 10 && at.origin === origin; hops++) {
      const answer = yield* sendHttpCall(origin, {
        method: "GET",
        path: `${at.pathname}${at.search}`,
        headers: { "x-account": account, cookie: headerOf(cookies), host: at.host }
      })
      if (answer.headers.location === undefined)
        return assert.fail(`${at.pathname} answered ${answer.status}: ${answer.text}`)
      cookies = merged(cookies, answer)
      at = new URL(answer.headers.location, at)
    }
    return at
  })

/** A started sign-in: the provider's address and the browser's cookies. */
interface StartedSignIn {
  readonly location: string
  readonly cookie: string
  readonly answer: HttpCallResponse
}

export const startSignIn = (
  provider: "oauthA" | "oauthB",
  options: { readonly callbackUrl?: string; readonly cookie?: string } = {}
): Effect.Effect<StartedSignIn, never, TestApp> =>
  Effect.gen(function* () {
    const { web } = yield* TestApp
    const query = options.callbackUrl === undefined ? "" : `?callbackUrl=${encodeURIComponent(options.callbackUrl)}`
    const answer = yield* web({ method: "GET", path: `/api/auth/${provider}${query}` })
    assert.strictEqual(answer.status, 302, answer.text)
    const ticket = headerOf(parseSetCookies(answer))
    const cookie = [options.cookie, ticket].filter((one) => one !== undefined && one !== "").join("; ")
    return { location: answer.headers.location ?? "", cookie, answer }
  })

/** Requests the callback with the provider's query. */
export const followCallback = (
  url: URL,
  cookie: string,
  more: Partial<AppCall> = {}
): Effect.Effect<HttpCallResponse, never, TestApp> =>
  Effect.flatMap(TestApp, ({ web }) =>
    web({ method: "GET", path: `${url.pathname}${url.search}`, headers: { cookie }, ...more })
  )

/** The whole sign-in, from start to callback. */
export const signInWithProvider = (
  provider: "oauthA" | "oauthB",
  account: string,
  options: { readonly callbackUrl?: string; readonly cookie?: string } = {}
): Effect.Effect<HttpCallResponse, never, TestApp> =>
  Effect.gen(function* () {
    const begun = yield* startSignIn(provider, options)
    return yield* followCallback(yield* authorizeAtProvider(begun.location, account), begun.cookie)
  })

/** The session cookie that a response sets, as `name=value`. */
export const sessionCookieOf = (answer: HttpCallResponse): Effect.Effect<string, never, TestApp> =>
  Effect.map(TestApp, ({ cookieName }) =>
    Option.match(Option.fromNullable(parseSetCookies(answer).get(cookieName)), {
      onNone: () => assert.fail(`there is no session: ${answer.status} ${answer.headers.location ?? answer.text}`),
      onSome: (token) => `${cookieName}=${token}`
    })
  )

/** The user of a session; null when it is not valid. */
export const findSessionUser = (cookie: string) =>
  Effect.flatMap(TestApp, ({ web }) =>
    Effect.map(web({ method: "GET", path: "/api/settings", headers: { cookie } }), ({ body, status }) =>
      status === 200 ? { id: String(body["id"]), email: String(body["email"]), name: String(body["name"]) } : null
    )
  )
