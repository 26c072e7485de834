import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { execFile } from "node:child_process"
import { statSync } from "node:fs"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { inject } from "vitest"
import { makeFakeSmtpServer } from "../fakes/FakeSmtpServer.ts"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { browserHeaders } from "../support/BrowserHeaders.ts"
import { freshDatabase } from "../support/Databases.ts"
import { eventually } from "../support/Eventually.ts"
import { freePort } from "../support/FreePort.ts"
import { findLinkToken, parseMail } from "../support/MailText.ts"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"
import { makeShellEnvironment, root } from "./BerthProcess.ts"
import { memberAt } from "./MainJobSteps.ts"
import { build, run } from "./ProgramProcess.ts"
import { readAllRuntimeTraces } from "./RuntimeProcesses.ts"
import { makeAccount, openWebClient, type TestAccount } from "./WebClient.ts"

const isOpenToAll = (path: string): boolean =>
  (statSync(path).mode & 0o001) !== 0 && (dirname(path) === path || isOpenToAll(dirname(path)))

/** Production requires a user id for each instance, which can run this Node.js. */
const separatesAccounts = process.getuid?.() === 0 && isOpenToAll(process.execPath)

const headers = browserHeaders["Firefox on Linux"]
const hello = { body: { messages: [{ role: "user", content: "hello" }] } }

/** A production setup in a new directory, created by the setup command alone. */
const production = Effect.gen(function* () {
  yield* build
  const directory = yield* temporaryDirectory
  const [port, backendPort, health] = yield* Effect.all([freePort, freePort, freePort])
  const inbox = yield* makeFakeSmtpServer()
  const upstream = yield* makeFakeOpenAi()
  const administrator = makeAccount("operator")
  const redisUrl = inject("redisUrl")
  const settings = {
    APP_URL: `http://localhost:${port}`,
    DATABASE_URL: Redacted.value(yield* freshDatabase),
    ...(redisUrl === "" ? {} : { REDIS_URL: `${redisUrl}/8` }),
    SMTP_URL: `smtp://127.0.0.1:${inbox.port}`,
    ADMIN_EMAILS: administrator.email,
    OPENAI_API_KEY: upstream.apiKey
  }
  const flags = [
    `--port=${port}`,
    `--backend-port=${backendPort}`,
    `--worker-health-port=${health}`,
    `--openai-base-url=${upstream.baseUrl}`,
    "--openrouter-base-url=http://127.0.0.1:9/api/v1",
    "--drain-seconds=5"
  ]
  yield* Effect.promise(() =>
    promisify(execFile)(process.execPath, [join(root, "dist", "supervisor.mjs"), "setup", ...flags], {
      cwd: directory,
      env: { ...makeShellEnvironment(), ...settings }
    })
  )
  yield* Effect.addFinalizer(() =>
    Effect.map(readAllRuntimeTraces(join(directory, ".data")), (instances) => {
      for (const { pid } of instances)
        if (Option.isSome(pid) && isProcessAlive(pid.value)) process.kill(pid.value, "SIGKILL")
    })
  )
  const [web, backend] = yield* Effect.all(
    [
      run("server", { SERVER_ROLE: "web" }, port, directory),
      run("server", { SERVER_ROLE: "backend" }, backendPort, directory),
      run("worker", {}, health, directory)
    ],
    { concurrency: "unbounded" }
  )
  return { webUrl: `http://127.0.0.1:${port}`, inbox, administrator, web, backend }
})

const register = (webUrl: string, account: TestAccount, inbox: Effect.Effect.Success<typeof production>["inbox"]) =>
  Effect.gen(function* () {
    const client = yield* openWebClient(webUrl)
    const registered = yield* client.raw("POST", "/api/register", { body: account, headers })
    assert.strictEqual(registered.status, 200, JSON.stringify(registered.body))
    yield* client.signIn(account)
    const confirm = Effect.gen(function* () {
      const mail = yield* eventually(
        Effect.map(inbox.received, (mails) => mails.find(({ to }) => to.includes(account.email))),
        (found) => found !== undefined,
        { description: "the mail that confirms the address", timeout: "30 seconds" }
      )
      const token = findLinkToken(parseMail(mail?.source ?? "").text, "/api/auth/verify-email")
      // The page that the link redirects to.
      assert.strictEqual((yield* client.raw("GET", `/api/auth/verify-email?token=${token}`)).status, 200)
    })
    return { client, confirm }
  })

const refusal = (response: { readonly status: number; readonly body: unknown }) =>
  [response.status, String(memberAt(response.body, "message"))] as const

describe("npm run setup", () => {
  it.scopedLive.runIf(separatesAccounts)(
    "Setup writes what web, backend and worker need to start in production and to serve an agent",
    () =>
      Effect.gen(function* () {
        const { administrator, inbox, web, webUrl } = yield* production
        assert.include(yield* web.logs, "Machine payments are off; set MPP_RECIPIENT to take them")

        const user = yield* register(webUrl, makeAccount("newcomer"), inbox)
        const provision = user.client.raw("POST", "/api/agents/provision", { body: { name: "Ada" } })
        const [unconfirmed, sentence] = refusal(yield* user.client.raw("POST", "/api/v1/gateway", hello))
        assert.strictEqual(unconfirmed, 402)
        assert.match(sentence, /^Confirm your email address/)
        yield* user.confirm
        assert.deepStrictEqual(refusal(yield* provision), [
          402,
          "Provisioning an agent needs an active subscription; choose a plan at /pricing."
        ])
        const machine = yield* user.client.raw("POST", "/api/v1/gateway", {
          ...hello,
          headers: { "x-payment-method": "mpp" }
        })
        assert.match(refusal(machine)[1], /^This service takes no machine payments\. Sign in/)
        assert.deepStrictEqual([machine.status, memberAt(machine.body, "error")], [402, "payment_required"])
        assert.isUndefined(memberAt(machine.body, "mpp"))
        assert.isUndefined(machine.headers["www-authenticate"])
        const token = memberAt((yield* user.client.raw("POST", "/api/auth/token")).body, "token")
        const checkout = yield* user.client.raw("POST", "/api/billing", {
          headers: { authorization: `Bearer ${String(token)}` },
          body: { action: "create-checkout", plan: "pro" }
        })
        assert.deepStrictEqual(refusal(checkout), [
          503,
          "Payment is not set up on this service. Its operator enables it by STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET."
        ])

        const operator = yield* register(webUrl, administrator, inbox)
        yield* operator.confirm
        const agent = yield* operator.client.provision("Ada", "openai/gpt-4o-mini")
        yield* operator.client.untilRunning(agent.id)
        assert.strictEqual((yield* operator.client.chat("Ahoy")).reply, "You said: Ahoy")
      })
  )
})
