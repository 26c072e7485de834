import { defaultNotificationPreferences } from "@berth/domain/shared/User"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"

const path = "/api/settings"

const patch = (as: App.SignedIn, json: unknown) => App.web({ method: "PATCH", path, as, json })

const stored = (as: App.SignedIn) => Effect.map(patch(as, {}), ({ body }) => body["notifications"])

const members = ["email", "product", "security", "agentStatus"] as const

layer(App.shared, { excludeTestServices: true })("Notification preferences", (it) => {
  it.effect("Notification preferences start with the defaults and change one by one", () =>
    Effect.gen(function* () {
      const user = yield* App.signInNewUser()
      assert.deepStrictEqual(yield* stored(user), defaultNotificationPreferences)
      let expected = { ...defaultNotificationPreferences }
      for (const member of members)
        for (const wanted of [!expected[member], expected[member]]) {
          expected = { ...expected, [member]: wanted }
          const answer = yield* patch(user, { notifications: { [member]: wanted } })
          assert.deepStrictEqual([answer.status, answer.body["notifications"]], [200, expected])
          assert.deepStrictEqual(yield* stored(user), expected)
        }
    })
  )

  it.effect("Notification preferences are all kept when concurrent requests change different ones", () =>
    Effect.gen(function* () {
      const user = yield* App.signInNewUser()
      const turned = Object.fromEntries(members.map((member) => [member, !defaultNotificationPreferences[member]]))
      yield* Effect.forEach(members, (member) => patch(user, { notifications: { [member]: turned[member] } }), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(yield* stored(user), turned)
    })
  )

  it.effect("Notification preferences stay when none is named, and reject values of other types", () =>
    Effect.gen(function* () {
      const user = yield* App.signInNewUser()
      for (const json of [{}, { notifications: null }, { notifications: {} }, { notifications: { sms: true } }]) {
        const answer = yield* patch(user, json)
        assert.deepStrictEqual([answer.status, answer.body["notifications"]], [200, defaultNotificationPreferences])
      }
      for (const wrong of ["yes", 1, null, []])
        assertError(yield* patch(user, { notifications: { product: wrong } }), { status: 400, code: "invalid_request" })
      assertError(yield* patch(user, { notifications: [] }), { status: 400, code: "invalid_request" })
      assert.deepStrictEqual(yield* stored(user), defaultNotificationPreferences)
    })
  )

  it.effect("Notification preferences are returned by PATCH only, beside the fields of GET and POST", () =>
    Effect.gen(function* () {
      const user = yield* App.signInNewUser()
      const { notifications: _, ...settings } = (yield* patch(user, { name: "Ada" })).body
      const got = yield* App.web({ method: "GET", path, as: user })
      const posted = yield* App.web({ method: "POST", path, as: user, json: { name: "Ada" } })
      assert.deepStrictEqual([got.body, posted.body], [settings, settings])
    })
  )
})
