import type { ApiKeyScope } from "@berth/domain/sessions/ApiKeyScope"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"

interface CreatedKey {
  readonly id: string
  readonly key: string
  readonly headers: { readonly authorization: string }
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

export const createApiKey = (as: App.SignedIn, ...scopes: ReadonlyArray<ApiKeyScope>) =>
  Effect.gen(function* () {
    const created = yield* App.web({ method: "POST", path: "/api/keys", as, json: { name: "test", scopes } })
    assert.strictEqual(created.status, 201, created.text)
    const key = String(created.body["key"])
    return { id: String(created.body["id"]), key, headers: bearer(key) } satisfies CreatedKey
  })

export const revokeApiKey = (as: App.SignedIn, { id }: CreatedKey) =>
  Effect.gen(function* () {
    assert.strictEqual((yield* App.web({ method: "DELETE", path: `/api/keys/${id}`, as })).status, 200)
  })

export const expireApiKey = ({ id }: CreatedKey) =>
  Effect.orDie(sql`update api_keys set expires_at = now() - interval '1 second' where id = ${id}`)
