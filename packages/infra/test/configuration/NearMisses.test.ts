import { editDistance, findNearMisses } from "@berth/infra/configuration/NearMisses"
import { settingNames } from "@berth/infra/configuration/SettingsLoader"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const word = Schema.String.pipe(Schema.pattern(/^[A-C]{0,6}$/))

/** Variables of shells, continuous integration, platforms and other services. */
const common = `
  PATH HOME USER LOGNAME SHELL TERM PWD OLDPWD SHLVL LANG LC_ALL TZ EDITOR HOSTNAME HOSTTYPE MAIL MAILTO TMPDIR DISPLAY
  NODE_ENV NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS npm_config_cache npm_lifecycle_event NPM_TOKEN INIT_CWD COREPACK_HOME PNPM_HOME
  CI CI_JOB_ID CI_COMMIT_SHA GITHUB_TOKEN GITHUB_ACTIONS GITLAB_CI RUNNER_TEMP BUILD_ID BUILD_NUMBER JOB_NAME
  KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT POD_NAME POD_IP DOCKER_BUILDKIT DOCKER_CONFIG DOCKER_HOSTS
  AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AZURE_CLIENT_ID GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT GCP_PROJECT
  API_URL WEB_URL BASE_URL APP_NAME APP_ENV APP_KEY APP_PORT APP_SECRET SECRET_KEY SECRET_KEY_BASE API_KEY JWT_SECRET SESSION_SECRET
  DATABASE_URI DATABASE_HOST DATABASE_USER DB_URL POSTGRES_URL POSTGRES_PASSWORD PGHOST PGUSER PGPASSWORD REDIS_URI REDIS_HOST REDIS_PORT
  SMTP_HOST SMTP_USER SMTP_PORT SMTP_PASS MAIL_HOST MAIL_PORT MAIL_URL EMAIL_FROM LOG_FILE LOG_DIR LOG_COLOR DATA_PATH DATE_DIR
  OPENAI_ORG_ID OPENAI_API_BASE OPENAPI_BASE_URL GROK_API_KEY XAI_API_KEY HF_TOKEN STRIPE_API_KEY STRIPE_PUBLISHABLE_KEY STRIPE_PRICE_ID
  OTEL_SERVICE_NAMES OTEL_TRACES_EXPORTER OTEL_RESOURCE_ATTRIBUTES OAUTH_CLIENT_ID OAUTH_CLIENT_SECRET INSTANCE_ID SERVER_NAME SERVER_PORT
  BACKEND_URI WORKER_COUNT WORKER_PROCESSES LLM_MODEL DEFAULT_MODEL HTTP_PROXY HTTPS_PROXY NO_PROXY SSH_AUTH_SOCK XDG_DATA_HOME XDG_DATA_DIRS
`
  .trim()
  .split(/\s+/)

const missesOf = (...names: ReadonlyArray<string>) =>
  Effect.map(settingNames, (known) => findNearMisses(Object.fromEntries(names.map((name) => [name, "x"])), known))

describe("findNearMisses", () => {
  for (const [name, meant] of [
    ["OPENROUTR_API_KEY", "OPENROUTER_API_KEY"],
    ["DATABSE_URL", "DATABASE_URL"],
    ["DATABASE_ULR", undefined],
    ["SECRET_KEYS", "SECRETS_KEYS"],
    ["BERTH_EVN", "BERTH_ENV"],
    ["BERTH_ENVIRONMENT", undefined],
    ["ADMIN_EMAIL", "ADMIN_EMAILS"],
    ["LIMIT_REGSITER", "LIMIT_REGISTER"],
    ["LIMITS_REGISTER", "LIMIT_REGISTER"],
    ["MPP_RECIPENT", "MPP_RECIPIENT"],
    ["STRIPE_WEBHOK_SECRET", "STRIPE_WEBHOOK_SECRET"]
  ] as const)
    it.effect(`findNearMisses reads ${name} as ${meant ?? "no setting"}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* missesOf(name), meant === undefined ? [] : [{ name, meant }])
      })
    )

  it.effect("findNearMisses reports no variable when the similar setting is set", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* missesOf("SECRET_KEYS", "SECRETS_KEYS"), [])
    })
  )

  it.effect("findNearMisses reports no common variable and none of this process", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* missesOf(...common, ...Object.keys(process.env)), [])
    })
  )
})

describe("editDistance", () => {
  it("editDistance counts a transposition of neighbors once", () => {
    assert.strictEqual(editDistance("EVN", "ENV"), 1)
    assert.strictEqual(editDistance("", "ENV"), 3)
  })

  it.prop("editDistance is symmetric, and 0 between equal words only", [word, word], ([one, other]) => {
    const distance = editDistance(one, other)
    assert.strictEqual(distance, editDistance(other, one))
    assert.strictEqual(distance === 0, one === other)
    assert.isAtMost(distance, Math.max(one.length, other.length))
  })
})
