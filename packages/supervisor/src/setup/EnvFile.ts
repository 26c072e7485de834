import { Data, Effect, Option } from "effect"
import { open, readFile } from "node:fs/promises"
import { parseEnv } from "node:util"

class EnvFileUnusable extends Data.TaggedError("EnvFileUnusable")<{
  readonly path: string
  readonly cause: unknown
}> {
  override readonly message = `${this.path} cannot be read or written: ${String(this.cause)}`
}

/** The value cannot be represented in a line of `.env`. */
class EnvValueUnquotable extends Data.TaggedError("EnvValueUnquotable")<{ readonly name: string }> {
  override readonly message = `${this.name}: has line breaks, or quotes of both kinds; percent-encode quotes, and write line breaks as \\n`
}

const plain = /^[A-Za-z0-9_./:@%+=,~*-]*$/

/** Formats `NAME=value`, quoted if `#`, spaces or backslashes require it. */
export const formatEnvLine = (name: string, value: string): Effect.Effect<string, EnvValueUnquotable> => {
  if (plain.test(value)) return Effect.succeed(`${name}=${value}`)
  const quote = ["'", '"'].find((it) => !value.includes(it))
  return quote === undefined || /[\r\n]/.test(value) || (quote === '"' && value.includes("\\"))
    ? new EnvValueUnquotable({ name })
    : Effect.succeed(`${name}=${quote}${value}${quote}`)
}

const isMissing = (cause: unknown) => cause instanceof Error && "code" in cause && cause.code === "ENOENT"

/** Reads the variables of a file; none without a file. */
export const readEnvFile = Effect.fn("EnvFile.read")((path: string) =>
  Effect.tryPromise({
    try: async () => {
      try {
        const values: Readonly<Record<string, string | undefined>> = parseEnv(await readFile(path, "utf8"))
        return Option.some(values)
      } catch (cause) {
        if (isMissing(cause)) return Option.none()
        throw cause
      }
    },
    catch: (cause) => new EnvFileUnusable({ path, cause })
  })
)

/** Appends lines to a file, which is then readable by its owner only. */
export const appendEnvFile = Effect.fn("EnvFile.append")((path: string, lines: ReadonlyArray<string>) =>
  Effect.tryPromise({
    try: async () => {
      const file = await open(path, "a+", 0o600)
      try {
        await file.chmod(0o600)
        const before = await file.readFile("utf8")
        await file.appendFile(`${before === "" || before.endsWith("\n") ? "" : "\n"}${lines.join("\n")}\n`)
      } finally {
        await file.close()
      }
    },
    catch: (cause) => new EnvFileUnusable({ path, cause })
  })
)
