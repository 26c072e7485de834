import { Data, Schema } from "effect"
import { idSchema } from "../ids/IdGenerator.ts"

export const ApiKeyId = idSchema("ApiKeyId", "An API key's id, key_…; grants no access")
export type ApiKeyId = typeof ApiKeyId.Type

/** Routes declare the scope that they require of an API key. A session has every scope. */
export const ApiKeyScope = Schema.Literal("agents", "chat", "gateway", "billing", "admin").annotations({
  identifier: "ApiKeyScope"
})
export type ApiKeyScope = typeof ApiKeyScope.Type

/** The API key or gateway token lacks the scope; `required` is null if the route accepts no key. */
export class ScopeMissing extends Data.TaggedError("ScopeMissing")<{ readonly required: ApiKeyScope | null }> {}
