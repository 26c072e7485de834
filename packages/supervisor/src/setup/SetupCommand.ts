import { settingNames } from "@berth/infra/configuration/SettingsLoader"
import { Data, Effect, Exit, Mailbox, Option } from "effect"
import { createInterface } from "node:readline"
import { parseArgs } from "node:util"
import { describeSetupFailure, SetupAborted, setUp } from "./Setup.ts"

class FlagsUnknown extends Data.TaggedError("FlagsUnknown")<{ readonly cause: unknown }> {
  override get message() {
    const reason = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `${reason}\nA flag is the name of a setting in lower case, for example --database-url=postgres://...`
  }
}

const toFlag = (name: string) => name.toLowerCase().replaceAll("_", "-")

/** Parses `--app-url=value` for every setting. */
const readFlags = (args: ReadonlyArray<string>) =>
  Effect.flatMap(settingNames, (names) =>
    Effect.try({
      try: () => {
        const options = Object.fromEntries([...names].map((name) => [toFlag(name), { type: "string" } as const]))
        const { values } = parseArgs({ args: [...args], options, strict: true })
        return Object.fromEntries(
          [...names].flatMap((name) => {
            const value = values[toFlag(name)]
            return typeof value === "string" && value.trim() !== "" ? [[name, value.trim()] as const] : []
          })
        )
      },
      catch: (cause) => new FlagsUnknown({ cause })
    })
  )

/** Lines that arrive before their question are queued. */
const openTerminal = Effect.gen(function* () {
  const lines = yield* Mailbox.make<string, SetupAborted>()
  const terminal = yield* Effect.acquireRelease(
    Effect.sync(() => createInterface({ input: process.stdin, output: process.stdout })),
    (opened) => Effect.sync(() => opened.close())
  )
  terminal.on("line", (line) => lines.unsafeOffer(line))
  terminal.on("close", () => lines.unsafeDone(Exit.fail(new SetupAborted())))
  return (question: string) =>
    Effect.suspend(() => {
      terminal.setPrompt(question)
      terminal.prompt()
      return Effect.catchTag(lines.take, "NoSuchElementException", () => new SetupAborted())
    })
})

/**
 * `npm run setup`: prompts on a terminal, otherwise reads flags and the environment. Exit code 1 if nothing was
 * written.
 */
export const setupCommand = Effect.fnUntraced(
  function* (args: ReadonlyArray<string>, programs: string) {
    const flags = yield* readFlags(args)
    const ask = process.stdin.isTTY ? Option.some(yield* openTerminal) : Option.none()
    yield* setUp({ directory: process.cwd(), flags, environment: process.env, ask, programs })
  },
  Effect.scoped,
  Effect.tapError((error) => Effect.sync(() => process.stderr.write(`${describeSetupFailure(error)}\n`)))
)
