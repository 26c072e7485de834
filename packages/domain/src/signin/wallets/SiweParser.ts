import { Context, Data, type Either } from "effect"
import type { SiweMessage } from "./SiweMessage.ts"

/** A text is not an EIP-4361 message, or has an address without its checksum. */
export class SiweMessageMalformed extends Data.TaggedError("SiweMessageMalformed")<object> {}

/** The most characters of a message that are looked at; a usual one has about three hundred. */
export const maximumSiweMessageLength = 4096

/** Reads EIP-4361 messages, by the letter: nothing before, between or after what the grammar allows. */
export class SiweParser extends Context.Tag("@berth/SiweParser")<
  SiweParser,
  { readonly parse: (text: string) => Either.Either<SiweMessage, SiweMessageMalformed> }
>() {}
