import { checkSettings, SettingsInvalid } from "@berth/infra/configuration/SettingsLoader"
import { generateKeyEncryptionKeys } from "@berth/infra/crypto/AesGcmSecretBox"
import { generateJwtKey } from "@berth/infra/crypto/JwtKey"
import { Console, Data, Effect, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { appendEnvFile, formatEnvLine, readEnvFile } from "./EnvFile.ts"

/** A setting that the setup reads from the environment or prompts for. */
interface SetupQuestion {
  readonly name: string
  readonly text: string
  /** Used for an empty answer, and without a terminal. */
  readonly fallback?: string
  /** The question applies only if this setting has a value. */
  readonly after?: string
}

const modelKeys = ["OPENROUTER", "OPENAI", "ANTHROPIC", "GOOGLE", "GROQ"].map((name) => `${name}_API_KEY`)

const setupQuestions: ReadonlyArray<SetupQuestion> = [
  { name: "APP_URL", text: "Public https URL of the service, for example https://berth.example.com" },
  { name: "DATABASE_URL", text: "PostgreSQL database, postgres://user:password@host:5432/name" },
  { name: "REDIS_URL", text: "Redis for queues and limits, redis://host:6379 (empty: PostgreSQL)" },
  { name: "SMTP_URL", text: "Mail server, smtp://user:password@host:587 or smtps://" },
  { name: "MAIL_FROM", text: "Sender of mails, Berth <no-reply@example.com> (empty: no-reply at the host of APP_URL)" },
  { name: "ADMIN_EMAILS", text: "Email addresses of administrators, comma-separated (empty: none)" },
  { name: "STRIPE_SECRET_KEY", text: "Secret key of the card processor, Stripe (empty: no card payments)" },
  {
    name: "STRIPE_WEBHOOK_SECRET",
    text: "Signing secret of its webhook <APP_URL>/api/webhooks/cardProcessor",
    after: "STRIPE_SECRET_KEY"
  },
  { name: "MPP_RECIPIENT", text: "Tempo address that machine payments go to, 0x... (empty: no machine payments)" },
  { name: "AGENT_RUNTIME", text: "Instance driver of agents, process or docker (empty: process)", fallback: "process" }
]

/** The input ended before the last answer. */
export class SetupAborted extends Data.TaggedError("SetupAborted")<object> {
  override readonly message = "Setup was ended. Nothing was written."
}

export interface SetupOptions {
  /** Directory of `.env`. */
  readonly directory: string
  /** Settings of the command line. They override the environment, but not an existing `.env`. */
  readonly flags: Readonly<Record<string, string>>
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Prompts a user; absent without a terminal. */
  readonly ask: Option.Option<(question: string) => Effect.Effect<string, SetupAborted>>
  /** Directory of the programs. */
  readonly programs: string
}

type Values = Readonly<Record<string, string>>

const randomKey = () => randomBytes(32).toString("base64url")

const generators: Readonly<Record<string, () => string>> = {
  INTERNAL_API_KEY: randomKey,
  SECRETS_KEYS: () => Redacted.value(generateKeyEncryptionKeys()),
  // A single line, since the settings read \n as a line break.
  JWT_PRIVATE_KEY: () => Redacted.value(generateJwtKey()).trim().replaceAll("\n", "\\n"),
  MPP_SECRET: randomKey
}

const hasValue = (values: Readonly<Record<string, string | undefined>>, name: string) =>
  (values[name] ?? "").trim() !== ""

/** Finds the problem of one setting in combination with the others. */
const findProblem = (values: Values, name: string) =>
  Effect.match(checkSettings(values, "server"), {
    onFailure: ({ faults }) => Option.fromNullable(faults.find((fault) => fault.startsWith(`${name}:`))),
    onSuccess: () => Option.none()
  })

const askFor = Effect.fnUntraced(function* (
  ask: (question: string) => Effect.Effect<string, SetupAborted>,
  { fallback = "", name, text }: SetupQuestion,
  values: Values
): Effect.fn.Return<string, SetupAborted> {
  const answer = (yield* ask(`${text}\n${name}: `)).trim() || fallback
  const problem = yield* findProblem({ ...values, [name]: answer }, name)
  if (Option.isNone(problem)) return answer
  yield* Console.log(`  ${problem.value}`)
  return yield* askFor(ask, { fallback, name, text }, values)
})

const modelQuestion = Effect.fnUntraced(function* (
  ask: (question: string) => Effect.Effect<string, SetupAborted>,
  values: Values
) {
  const vendors = modelKeys.map((name) => name.replace("_API_KEY", "").toLowerCase())
  const question = `Model provider: ${vendors.join(", ")} (empty: none)\nprovider: `
  const vendor = yield* Effect.repeat(ask(question), {
    until: (answer) => ["", ...vendors].includes(answer.trim().toLowerCase())
  })
  const name = `${vendor.trim().toUpperCase()}_API_KEY`
  return vendor.trim() === "" ? {} : { [name]: yield* askFor(ask, { name, text: "Its API key" }, values) }
})

/** Collects values for settings missing in `.env`: flags, then the environment, then answers. */
const collect = Effect.fnUntraced(function* ({ ask, environment, flags }: SetupOptions, existing: Values) {
  let values: Values = { BERTH_ENV: "production", ...flags, ...existing }
  for (const name of [...modelKeys, ...setupQuestions.map((question) => question.name), ...Object.keys(generators)])
    if (!hasValue(values, name) && hasValue(environment, name))
      values = { ...values, [name]: (environment[name] ?? "").trim() }
  for (const question of setupQuestions) {
    const { after, fallback, name } = question
    if (hasValue(values, name) || (after !== undefined && !hasValue(values, after))) continue
    const answer = Option.isSome(ask) ? yield* askFor(ask.value, question, values) : fallback
    if (answer !== undefined && answer !== "") values = { ...values, [name]: answer }
  }
  if (Option.isSome(ask) && !modelKeys.some((name) => hasValue(values, name)))
    values = { ...values, ...(yield* modelQuestion(ask.value, values)) }
  // Set here, since the settings require this confirmation for child processes.
  if (values["AGENT_RUNTIME"] === "process" && !hasValue(values, "ALLOW_PROCESS_RUNTIME"))
    values = { ...values, ALLOW_PROCESS_RUNTIME: "yes" }
  for (const [name, generate] of Object.entries(generators))
    if (!hasValue(values, name)) values = { ...values, [name]: generate() }
  return values
})

/** Describes the consequences of the choices. */
const describeChoices = (values: Values): ReadonlyArray<string> =>
  [
    modelKeys.some((name) => hasValue(values, name)) ||
      `No model provider: agents reply once ${modelKeys.join(" or ")} is set.`,
    hasValue(values, "ADMIN_EMAILS") || "No administrator: set ADMIN_EMAILS to provision agents without a plan.",
    hasValue(values, "STRIPE_SECRET_KEY") ||
      "No card payments: users cannot choose a plan until STRIPE_SECRET_KEY is set.",
    hasValue(values, "MPP_RECIPIENT") ||
      "No machine payments: the gateway takes cards only until MPP_RECIPIENT is set.",
    values["AGENT_RUNTIME"] !== "process" ||
      "Agents run as child processes (ALLOW_PROCESS_RUNTIME=yes), which isolate less than containers; run the backend as root."
  ].filter((it) => typeof it === "string")

const startCommands = (programs: string) =>
  [
    `  SERVER_ROLE=web     node ${join(programs, "server.mjs")}`,
    `  SERVER_ROLE=backend node ${join(programs, "server.mjs")}`,
    `  node ${join(programs, "worker.mjs")}`
  ].join("\n")

/** Writes the missing settings of a production setup to `.env`; existing values are kept. */
export const setUp = Effect.fn("Setup.run")(function* (options: SetupOptions) {
  const path = join(options.directory, ".env")
  const file = yield* readEnvFile(path)
  const present = Object.fromEntries(
    Object.entries(Option.getOrElse(file, () => ({}))).flatMap(([name, value = ""]) =>
      value.trim() === "" ? [] : [[name, value]]
    )
  )
  const presentNames = Object.keys(present)
  const values = yield* collect(options, present)
  const { warnings } = yield* checkSettings(values, "server")
  const added = Object.entries(values).filter(([name]) => !presentNames.includes(name))
  const lines = yield* Effect.forEach(added, ([name, value]) => formatEnvLine(name, value))
  if (added.length > 0)
    yield* appendEnvFile(path, [`# ${Option.isSome(file) ? "Added" : "Written"} by npm run setup`, ...lines])
  const names = added.map(([name]) => name)
  const overruled = Object.keys(options.flags).filter((name) => presentNames.includes(name))
  yield* Console.log(
    [
      names.length === 0 ? `${path} is complete; nothing was added.` : `Added to ${path}: ${names.join(", ")}`,
      ...(presentNames.length === 0 ? [] : [`Kept as they were: ${presentNames.join(", ")}`]),
      ...overruled.map((name) => `${name} was given, but .env has a value, which stays. Change it there.`),
      ...warnings,
      ...describeChoices(values),
      `\nStart the programs in ${options.directory}, each under a process manager:\n\n${startCommands(options.programs)}`
    ].join("\n")
  )
})

/** Message of a setup with missing settings, which wrote nothing. */
export const describeSetupFailure = (error: { readonly message: string }) =>
  error instanceof SettingsInvalid
    ? [
        "Nothing was written. These settings are missing or wrong:",
        ...error.faults.map((fault) => `  ${fault}`),
        ...error.warnings,
        "Set them in the environment or as flags, for example: npm run setup -- --app-url=https://berth.example.com"
      ].join("\n")
    : error.message
