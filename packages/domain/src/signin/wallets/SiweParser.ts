import { Context, Data, type Either } from "effect"
import type { SiweMessage } from "./SiweMessage.ts"

/** The text is not an EIP-4361 message, or its address lacks the EIP-55 checksum. */
export class SiweMessageMalformed extends Data.TaggedError("SiweMessageMalformed")<object> {}

/** Characters; messages usually have about 300. */
export const maximumSiweMessageLength = 4096

/** Strict EIP-4361 grammar. */
export class SiweParser extends Context.Tag("@berth/SiweParser")<
  SiweParser,
  { readonly parse: (text: string) => Either.Either<SiweMessage, SiweMessageMalformed> }
>() {}
