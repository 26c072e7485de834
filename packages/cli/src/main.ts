import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline/promises"
import { Writable } from "node:stream"
import { runCommand } from "./Commands.ts"
import { CommandFailed, StoredAccess, Terminal } from "./Terminal.ts"

const folder = process.env["XDG_CONFIG_HOME"] ?? join(homedir(), ".config")
const file = join(folder, "berth", "access.json")

const StoredText = Schema.parseJson(StoredAccess, { space: 2 })
const decodeStored = Schema.decodeOption(StoredText)
const encodeStored = Schema.encodeSync(StoredText)

const readLine = async (question: string, isSecret: boolean) => {
  process.stderr.write(question)
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({
    input: process.stdin,
    output: isSecret ? silence : process.stderr,
    terminal: process.stdin.isTTY
  })
  // The end of the input counts as an empty line.
  const line = await Promise.race([
    lines.question(""),
    new Promise<string>((resolve) => lines.once("close", () => resolve("")))
  ])
  lines.close()
  if (isSecret) process.stderr.write("\n")
  return Redacted.make(line)
}

const terminal = Layer.succeed(Terminal, {
  write: (text) => Effect.sync(() => void process.stdout.write(text)),
  ask: (question, isSecret) => Effect.promise(() => readLine(question, isSecret)),
  read: Effect.sync(() => Option.flatMap(Option.liftThrowable(() => readFileSync(file, "utf8"))(), decodeStored)),
  save: (access) =>
    Effect.try({
      try: () => {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
        writeFileSync(file, encodeStored(access), { mode: 0o600 })
        // An existing file keeps its mode when it is overwritten.
        chmodSync(file, 0o600)
      },
      catch: () => new CommandFailed({ message: `${file} cannot be written.` })
    })
})

const run = runCommand(process.argv.slice(2)).pipe(
  Effect.provide(terminal),
  Effect.catchAll(({ message }) =>
    Effect.sync(() => {
      process.stderr.write(`berth: ${message}\n`)
      process.exitCode = 1
    })
  )
)
await Effect.runPromise(run)
