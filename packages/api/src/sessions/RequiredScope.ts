import { type ApiKeyScope, ScopeMissing } from "@berth/domain/sessions/ApiKeyScope"
import { OpenApi } from "@effect/platform"
import { Context, identity } from "effect"
import { errorBody } from "../http/ErrorBody.ts"

/** Scope that an endpoint requires of an API key; null rejects every key. During a request, that of its route. */
export class RequiredScope extends Context.Reference<RequiredScope>()("@berth/RequiredScope", {
  defaultValue: (): ApiKeyScope | null => null
}) {}

export const apiKeyScheme = "apiKey"

/**
 * Accepts API keys with a scope at an endpoint; for groups by `annotateEndpointsContext`. `document` changes the
 * OpenAPI operation.
 */
export const acceptApiKeys = (
  scope: ApiKeyScope,
  document: (operation: Record<string, unknown>) => Record<string, unknown> = identity
) =>
  Context.make(RequiredScope, scope).pipe(
    Context.add(OpenApi.Transform, (operation) => {
      const declared: unknown = operation["security"]
      const schemes: ReadonlyArray<unknown> = Array.isArray(declared) ? declared : []
      // Without a middleware's scheme, the credential is optional.
      const security = schemes.length > 0 ? schemes : [{}, { session: [] }]
      return document({ ...operation, security: [...security, { [apiKeyScheme]: [] }], "x-required-scope": scope })
    })
  )

export const ScopeMissingBody = errorBody(ScopeMissing, {
  status: 403,
  error: "Scope missing",
  message: ({ required }) =>
    required === null
      ? "This route accepts no API key. Sign in."
      : `This credential lacks the scope \`${required}\`. Use an API key with this scope, or sign in.`,
  example: new ScopeMissing({ required: "chat" }),
  read: () => new ScopeMissing({ required: null })
})

export const apiKeySecurityScheme = {
  type: "http",
  scheme: "bearer",
  description: "API key of POST /api/keys. `x-required-scope` of an operation names the scope that it requires"
}
