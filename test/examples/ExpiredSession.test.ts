import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"

layer(App.shared, { excludeTestServices: true })("GET /api/settings", (it) => {
  it.effect("GET /api/settings responds 401 when the session has expired", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser()
      const read = App.web({ method: "GET", path: "/api/settings", as })
      assert.strictEqual((yield* read).status, 200)
      // Sessions expire by the clock of the database.
      yield* sql`update sessions set expires_at = now() where user_id = ${as.user.id}`
      assert.strictEqual((yield* read).status, 401)
    })
  )
})
