import { Context, type Effect, type Redacted } from "effect"

/** Slow, salted hashing off the main thread, with bounded concurrency. */
export class PasswordHasher extends Context.Tag("@berth/PasswordHasher")<
  PasswordHasher,
  {
    /** Returns a PHC string. */
    readonly hash: (password: Redacted.Redacted) => Effect.Effect<string>
    readonly verify: (password: Redacted.Redacted, hash: string) => Effect.Effect<boolean>
    /** Takes as long as a real verification, so that response times do not reveal whether an account exists. */
    readonly verifyDummy: (password: Redacted.Redacted) => Effect.Effect<false>
  }
>() {}
