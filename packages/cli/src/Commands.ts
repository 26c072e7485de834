import { NewApiKey } from "@berth/api/accounts/api-keys/ApiKeysApi"
import { type Client, type ClientOptions, makeClient, streamReply } from "@berth/client"
import { ApiKeyId } from "@berth/domain/sessions/ApiKeyScope"
import { Array as Arr, DateTime, Effect, Option, Redacted, Schedule, Schema, Stream } from "effect"
import { parseArgs } from "node:util"
import { CommandFailed, Terminal } from "./Terminal.ts"

const usage = `berth: agents from the command line

  berth login [--url URL]              store an API key
  berth agents                         list your agents
  berth agents show AGENT              show one
  berth chat AGENT [MESSAGE]           send a message, or talk until an empty line
  berth logs AGENT [-f] [--limit N]    show the newest log entries, -f: and those to come
  berth keys                           list your API keys
  berth keys create NAME --scope SCOPE [--scope SCOPE]
  berth keys revoke KEY

AGENT is an id or a name. The commands of keys sign in by email and password, since a key cannot make keys.
`

const defaultUrl = "http://localhost:3000"
const logPoll = Schedule.spaced("2 seconds")

const parse = (args: ReadonlyArray<string>) =>
  Effect.try({
    try: () =>
      parseArgs({
        args: [...args],
        allowPositionals: true,
        options: {
          url: { type: "string" },
          scope: { type: "string", multiple: true },
          limit: { type: "string", default: "100" },
          session: { type: "string" },
          follow: { type: "boolean", short: "f", default: false },
          help: { type: "boolean", short: "h", default: false }
        }
      }),
    catch: (cause) => new CommandFailed({ message: cause instanceof Error ? cause.message : "unreadable arguments" })
  })
type Arguments = Effect.Effect.Success<ReturnType<typeof parse>>

const fail = (message: string) => new CommandFailed({ message })
const missing = (name: string) => fail(`${name} is missing. See berth --help.`)

const describe = (failure: { readonly _tag: string; readonly message?: string }): CommandFailed =>
  fail(failure.message === undefined || failure.message === "" ? failure._tag : failure.message)
const orFail = <A, E extends { readonly _tag: string; readonly message?: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapError(effect, describe)

/** Removes control characters from texts of agents and models, since terminals interpret them. */
const toPrintable = (text: string) => text.replaceAll(/[^\P{Cc}\n\t]/gu, "")

const writeLine = (text: string) => Effect.flatMap(Terminal, ({ write }) => write(`${toPrintable(text)}\n`))

/** Writes columns of equal width. */
const writeTable = (rows: ReadonlyArray<ReadonlyArray<string>>) => {
  const widths = rows.reduce<ReadonlyArray<number>>(
    (known, row) => row.map((text, at) => Math.max(known[at] ?? 0, text.length)),
    []
  )
  return Effect.forEach(rows, (row) =>
    writeLine(
      row
        .map((text, at) => text.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd()
    )
  )
}

const findAccess = Effect.gen(function* () {
  const { read } = yield* Terminal
  const stored = yield* yield* Effect.map(read, (found) =>
    Effect.mapError(found, () => fail("You are not signed in. Run berth login."))
  )
  return { baseUrl: stored.url, apiKey: Redacted.make(stored.key) } satisfies ClientOptions
})

/** Whether requests are encrypted, or stay on this computer. */
const isProtected = ({ hostname, protocol }: URL) =>
  protocol === "https:" ||
  (protocol === "http:" && /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname))

const login = Effect.fnUntraced(function* ({ values }: Arguments) {
  const { ask, save } = yield* Terminal
  const url = values.url ?? defaultUrl
  if (!URL.canParse(url)) return yield* fail(`${url} is no URL.`)
  if (!isProtected(new URL(url)))
    return yield* fail(`${url} would send the API key unencrypted. Use https://, or http:// on this computer only.`)
  const apiKey = yield* ask("API key: ", true)
  const client = yield* makeClient({ baseUrl: url, apiKey })
  // A valid key may lack the scope of agents.
  yield* orFail(Effect.catchTag(client.agents.list(), "ScopeMissing", () => Effect.void))
  yield* save({ url, key: Redacted.value(apiKey) })
  yield* writeLine(`Signed in to ${url}.`)
})

const listAgents = (client: Client) => Effect.map(orFail(client.agents.list()), ({ agents }) => agents)

const findAgent = Effect.fnUntraced(function* (client: Client, named: string | undefined) {
  if (named === undefined) return yield* missing("AGENT")
  const agents = yield* listAgents(client)
  const [found, another] = agents.filter(({ id, name }) => id === named || name === named)
  if (found === undefined) return yield* fail(`You have no agent ${named}.`)
  return another === undefined ? found : yield* fail(`Several agents are named ${named}. Use the id.`)
})

const agents = Effect.fnUntraced(function* ({ positionals: [, action = "list", named] }: Arguments) {
  const client = yield* makeClient(yield* findAccess)
  if (action === "list") {
    const rows = (yield* listAgents(client)).map(({ id, model, name, status }) => [id, name, status, model])
    return yield* writeTable([["ID", "NAME", "STATUS", "MODEL"], ...rows])
  }
  if (action !== "show") return yield* fail(`berth agents has no ${action}. See berth --help.`)
  const { createdAt, id, model, name } = yield* findAgent(client, named)
  const { agent } = yield* orFail(client.agents.detail({ path: { id } }))
  const started = agent.startedAt === null ? "not started" : DateTime.formatIso(agent.startedAt)
  return yield* writeTable([
    ["id", id],
    ["name", name],
    ["status", agent.status],
    ["model", model],
    ["plan", agent.plan],
    ["url", agent.url],
    ["created", DateTime.formatIso(createdAt)],
    ["started", started]
  ])
})

const chat = Effect.fnUntraced(function* ({ positionals: [, named, ...words], values }: Arguments) {
  const { ask, write } = yield* Terminal
  const access = yield* findAccess
  const { id: agentId } = yield* findAgent(yield* makeClient(access), named)
  const send = (message: string, sessionId: string | undefined) =>
    streamReply(access, { agentId, message, sessionId }).pipe(
      Stream.tap((event) => write(event.type === "delta" ? toPrintable(event.text) : "\n")),
      Stream.runLast,
      Effect.map((last) => Option.getOrUndefined(Option.filter(last, (event) => event.type === "done"))?.sessionId),
      orFail
    )
  const converse = (sessionId: string | undefined): Effect.Effect<void, CommandFailed> =>
    Effect.flatMap(ask("> ", false), (line) =>
      Redacted.value(line).trim() === "" ? Effect.void : Effect.flatMap(send(Redacted.value(line), sessionId), converse)
    )
  return yield* words.length === 0 ? converse(values.session) : send(words.join(" "), values.session)
})

const Limit = Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, 1000))

const logs = Effect.fnUntraced(function* ({ positionals: [, named], values }: Arguments) {
  const client = yield* makeClient(yield* findAccess)
  const { id } = yield* findAgent(client, named)
  const limit = yield* Effect.mapError(Schema.decode(Limit)(values.limit), () => fail("--limit must be 1 to 1000."))
  const read = orFail(client.agentRecords.logs({ path: { id }, urlParams: { limit } }))
  const seen = new Set<string>()
  const writeNew = Effect.flatMap(read, (page) =>
    Effect.forEach(
      Arr.reverse(page.logs.filter((entry) => !seen.has(entry.id))),
      ({ id: entryId, level, message, source, timestamp }) => {
        seen.add(entryId)
        return writeLine(`${DateTime.formatIso(timestamp)} ${level.padEnd(5)} ${source} ${message}`)
      },
      { discard: true }
    )
  )
  return yield* values.follow ? Effect.repeat(writeNew, logPoll) : writeNew
})

const decodeKey = (fields: object) =>
  Effect.mapError(Schema.decodeUnknown(NewApiKey)(fields), ({ message }) => fail(message))
const decodeKeyId = (text: string) => Effect.mapError(Schema.decode(ApiKeyId)(text), () => fail(`${text} is no id.`))

/** A client with a separate session, which ends with `use`. */
const withSession = Effect.fnUntraced(function* <A, E, R>(use: (client: Client) => Effect.Effect<A, E, R>) {
  const { ask } = yield* Terminal
  const { baseUrl } = yield* findAccess
  const client = yield* makeClient({ baseUrl })
  const email = Redacted.value(yield* ask("Email: ", false))
  const password = yield* ask("Password: ", true)
  return yield* Effect.acquireUseRelease(
    orFail(client.signin.credentials({ payload: { email, password } })),
    () => use(client),
    () => Effect.ignore(client.signin.signOut())
  )
})

const keys = ({ positionals: [, action = "list", named], values }: Arguments) =>
  withSession((client) =>
    Effect.gen(function* () {
      switch (action) {
        case "list": {
          const { keys: all } = yield* orFail(client.apiKeys.list({ urlParams: { limit: 100, offset: 0 } }))
          const rows = all.map(({ expiresAt, hint, id, name, scopes }) => [
            id,
            name,
            hint,
            scopes.join(","),
            expiresAt === null ? "never" : DateTime.formatIso(expiresAt)
          ])
          return yield* writeTable([["ID", "NAME", "KEY", "SCOPES", "EXPIRES"], ...rows])
        }
        case "create": {
          if (named === undefined) return yield* missing("NAME")
          const payload = yield* decodeKey({ name: named, scopes: values.scope ?? [] })
          return yield* writeLine(Redacted.value((yield* orFail(client.apiKeys.create({ payload }))).key))
        }
        case "revoke": {
          if (named === undefined) return yield* missing("KEY")
          yield* orFail(client.apiKeys.revoke({ path: { id: yield* decodeKeyId(named) } }))
          return yield* writeLine("Revoked.")
        }
        default:
          return yield* fail(`berth keys has no ${action}. See berth --help.`)
      }
    })
  )

const commands: Readonly<Record<string, (args: Arguments) => Effect.Effect<unknown, CommandFailed, Terminal>>> = {
  login,
  agents,
  chat,
  logs,
  keys
}

/** Runs a command line, without the name of the program. */
export const runCommand = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>
): Effect.fn.Return<void, CommandFailed, Terminal> {
  const parsed = yield* parse(args)
  const [name] = parsed.positionals
  if (name === undefined || parsed.values.help) return yield* Effect.flatMap(Terminal, ({ write }) => write(usage))
  const command = commands[name]
  if (command === undefined) return yield* fail(`There is no command ${name}. See berth --help.`)
  yield* command(parsed)
})
