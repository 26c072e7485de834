import { Context, type Effect, Schema } from "effect"

/** The prefix names the kind; the UUIDv7 after it is ordered by creation time. */
type IdPrefix =
  | "usr"
  | "ses"
  | "agt"
  | "ins"
  | "chs"
  | "msg"
  | "rsv"
  | "hld"
  | "led"
  | "job"
  | "req"
  | "cpl"
  | "nte"
  | "mal"
  | "tsk"
  | "pur"
  | "aud"
  | "key"
  | "inb"
  | "out"
  | "log"
  | "pay"
  | "evt"
  | "a2a"
  | "whe"
  | "ver"
  | "sch"
  | "run"
  | "ctx"
  | "psh"
  | "att"

/** Source of new ids: `<prefix>_<32 hex digits>`. */
export class IdGenerator extends Context.Tag("@berth/IdGenerator")<
  IdGenerator,
  { readonly next: <P extends IdPrefix>(prefix: P) => Effect.Effect<`${P}_${string}`> }
>() {}

/** Returns an id without its prefix, for ids derived from it. */
export const getIdSuffix = (id: string): string => id.slice(id.indexOf("_") + 1)

/** Ids in paths and bodies are not validated: a malformed id is not found (404, not 400). */
export const idSchema = <B extends string>(brand: B, description: string) =>
  Schema.String.pipe(Schema.brand(brand)).annotations({ identifier: brand, description })
