import { maximumSpanAttributes, maximumSpanText, type RuntimeSpan } from "@berth/domain/instances/RuntimeSpans"
import { toReadableSpan } from "@berth/infra/telemetry/RelayedSpans"
import { assert, it } from "@effect/vitest"
import { emptyResource } from "@opentelemetry/resources"

const from = { resource: emptyResource(), instrumentationScope: { name: "berth" } }
const span: RuntimeSpan = {
  traceId: "1".repeat(32),
  spanId: "2".repeat(16),
  parentSpanId: "3".repeat(16),
  name: "Tools.run",
  kind: "internal",
  startedAt: 1,
  endedAt: 2,
  attributes: [],
  exit: { type: "success" }
}

it("A relayed span keeps few characters of its attributes, however many the runtime sends", () => {
  const text = "x".repeat(maximumSpanText)
  const long = Array.from({ length: maximumSpanAttributes }, () => text)
  const { attributes } = toReadableSpan(
    { ...span, attributes: [["berth.first", text], ...long.map((_, at) => [`berth.${at}`, long] as const)] },
    from
  )
  assert.deepStrictEqual(attributes, { "berth.first": text })
})
