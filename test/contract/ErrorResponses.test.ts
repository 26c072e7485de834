import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { findErrorExample } from "./DocumentedErrors.ts"
import { makeRowCall, type ErrorRow, ErrorRowFixtures, errorRowFixturesLayer } from "./ErrorRow.ts"
import { errorRows } from "./ErrorRows.ts"

const Issues = Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.NonEmptyString }))

const assertRow = (row: ErrorRow) =>
  Effect.gen(function* () {
    const app = yield* App.TestApp
    const call = makeRowCall(row, yield* ErrorRowFixtures)
    const requested = app[row.listener ?? "web"](call)
    const answer = yield* row.during === undefined ? requested : row.during(requested)
    assertError(answer, row)
    const documented = findErrorExample(row)
    if (documented !== undefined) {
      assert.strictEqual(answer.body["error"], documented["error"])
      assert.containsAllKeys(answer.body, Object.keys(documented))
    }
    if (row.status === 401) assert.match(answer.headers["www-authenticate"] ?? "", /^(Bearer|Payment) /)
    for (const [member, value] of Object.entries(row.members ?? {})) assert.deepStrictEqual(answer.body[member], value)
    if (row.fields !== undefined) {
      const issues = yield* Schema.decodeUnknown(Issues)(answer.body["issues"])
      assert.deepStrictEqual(issues.map(({ path }) => path).toSorted(), [...row.fields].toSorted())
    }
  })

const appOf = (options: App.TestAppOptions) => App.layer({ ...options, sendsSpans: false })

const everyRow = (options: App.TestAppOptions, name: string, rows: ReadonlyArray<ErrorRow>) =>
  layer(errorRowFixturesLayer.pipe(Layer.provideMerge(appOf(options))), { excludeTestServices: true })(name, (it) => {
    for (const row of rows)
      it.effect(`${row.route} is ${row.status} ${row.code} when ${row.when}`, () => assertRow(row))
  })

everyRow({}, "Every error of the table", errorRows)

// The response does not depend on the transport to the agent manager.
everyRow(
  { agentManagerTransport: "remote" },
  "Every error that the agent manager names, over HTTP",
  errorRows.filter(
    ({ during, route }) => during !== undefined && /\/api\/(instance|agent$|chat|agents\/:id\/(logs|stats))/.test(route)
  )
)

// Nor on the transport to the AI layer.
everyRow(
  { aiLayerTransport: "remote" },
  "Every error that models lead the gateway to, over HTTP",
  errorRows.filter(
    ({ route, status, when }) => route === "POST /api/v1/gateway" && (status === 500 || /model/.test(when))
  )
)
