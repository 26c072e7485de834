import { parseCron } from "@berth/domain/shared/CronTimes"
import { decideTick, findNextDue, maximumLateRuns, punctualWithin } from "@berth/domain/schedules/TickDecision"
import type { OnMissed } from "@berth/domain/schedules/Schedule"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Either, FastCheck, Option } from "effect"

const at = (iso: string) => DateTime.unsafeMake(iso)
const timesOf = (cron: string, timezone = "UTC") => Either.getOrThrow(parseCron(cron, timezone))
const nextOf = (cron: string, timezone: string, after: string, count: number) =>
  timesOf(cron, timezone)
    .listAfter(at(after), count)
    .map((time) => DateTime.formatIso(time).slice(5, 16))

/** Expressions and zones with gaps and overlaps of an hour and of half an hour, at night and at midnight. */
const crons = ["*/15 * * * *", "30 2 * * *", "0 * * * *", "0 0 * * *", "15 1,2,3 * * *", "0 */2 * * *", "10 30 1 * * *"]
const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "America/Santiago",
  "Africa/Cairo",
  "Asia/Kathmandu"
]
const expression = FastCheck.record({ cron: FastCheck.constantFrom(...crons), zone: FastCheck.constantFrom(...zones) })
/** Within a day of a clock change in one of the zones. */
const moment = FastCheck.tuple(
  FastCheck.constantFrom(
    "2026-03-08",
    "2026-03-29",
    "2026-04-05",
    "2026-04-24",
    "2026-09-06",
    "2026-10-04",
    "2026-10-25"
  ),
  FastCheck.integer({ min: -24 * 3600, max: 24 * 3600 })
).map(([day, seconds]) => DateTime.add(at(`${day}T00:00:00Z`), { seconds }))
const policy = FastCheck.constantFrom<OnMissed>("once", "all", "skip")

describe("CronTimes", () => {
  it("A time that the change to summer time leaves out runs when the clock has changed", () => {
    assert.deepStrictEqual(nextOf("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2), [
      "03-29T01:00",
      "03-30T00:30"
    ])
    assert.deepStrictEqual(nextOf("0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", 3), [
      "03-29T00:00",
      "03-29T01:00",
      "03-29T02:00"
    ])
  })

  it("A time that the change to winter time repeats runs once, and an interval runs through both hours", () => {
    assert.deepStrictEqual(nextOf("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2), [
      "10-25T00:30",
      "10-26T01:30"
    ])
    assert.deepStrictEqual(nextOf("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:45:00Z", 5), [
      "10-25T00:00",
      "10-25T00:30",
      "10-25T01:00",
      "10-25T01:30",
      "10-25T02:00"
    ])
  })

  it("parseCron accepts 5 and 6 fields only, and IANA time zones", () => {
    for (const cron of ["* * * * *", "*/20 * * * * *", "0 9 * * MON-FRI", "0 0 L * *"])
      assert.isTrue(Either.isRight(parseCron(cron, "Asia/Tokyo")), cron)
    for (const cron of ["", "* * *", "@daily", "60 * * * *", "* * * * * * *", "x * * * *", "* ".repeat(200)])
      assert.isTrue(Either.isLeft(parseCron(cron, "UTC")), cron)
    assert.isTrue(Either.isLeft(parseCron("* * * * *", "Mars/Olympus")))
    assert.match(String(Either.getLeft(parseCron("5-1 * * * *", "UTC"))), /must have valid fields/)
  })

  it("Times of an expression are the same when listed forwards and backwards, around every change of the clock", () => {
    FastCheck.assert(
      FastCheck.property(expression, moment, ({ cron, zone }, from) => {
        const times = timesOf(cron, zone)
        const forwards = times.listAfter(DateTime.subtract(from, { millis: 1 }), 12)
        const until = forwards.at(-1) ?? from
        const epochs = (list: ReadonlyArray<DateTime.Utc>) => list.map(({ epochMillis }) => epochMillis)
        assert.deepStrictEqual(epochs(times.listNewest(from, until, 100)), epochs(forwards))
        assert.deepStrictEqual(new Set(epochs(forwards)).size, 12)
      }),
      { numRuns: 50, seed: 17 }
    )
  })
})

describe("decideTick", () => {
  it("Decisions run or miss every time once and in order, whatever pauses and clock jumps lie between them", () => {
    const step = FastCheck.integer({ min: -7200, max: 14_400 })
    FastCheck.assert(
      FastCheck.property(
        expression,
        moment,
        policy,
        FastCheck.array(step, { maxLength: 12 }),
        (of, start, onMissed, steps) => {
          const times = timesOf(of.cron, of.zone)
          let nextDueAt = Option.getOrThrow(findNextDue(times, start))
          let now = start
          let latest = start
          const decided: Array<number> = []
          for (const jump of steps) {
            now = DateTime.add(now, { seconds: jump })
            latest = DateTime.max(latest, now)
            const { missed, nextDueAt: next, runs } = decideTick({ times, onMissed, nextDueAt }, now)
            decided.push(...[...missed, ...runs].map(({ epochMillis }) => epochMillis))
            for (const time of [...missed, ...runs]) assert.isTrue(DateTime.lessThanOrEqualTo(time, now))
            nextDueAt = Option.getOrThrow(next)
          }
          assert.deepStrictEqual(
            decided,
            [...new Set(decided)].toSorted((a, b) => a - b)
          )
          const due = times
            .listNewest(DateTime.add(start, { millis: 1 }), latest, 1000)
            .map(({ epochMillis }) => epochMillis)
          assert.deepStrictEqual(decided, due)
        }
      ),
      { numRuns: 150, seed: 17 }
    )
  })

  it("Late times run once for all, each up to the limit, or not at all, and the others are missed", () => {
    const times = timesOf("*/10 * * * *")
    const nextDueAt = at("2026-06-01T00:00:00Z")
    const now = at("2026-06-01T05:05:00Z")
    const decide = (onMissed: OnMissed) => decideTick({ times, onMissed, nextDueAt }, now)
    const counts = (onMissed: OnMissed) => [decide(onMissed).runs.length, decide(onMissed).missed.length]
    assert.deepStrictEqual(counts("once"), [1, 30])
    assert.deepStrictEqual(counts("all"), [maximumLateRuns, 31 - maximumLateRuns])
    assert.deepStrictEqual(counts("skip"), [0, 31])
    assert.deepStrictEqual(decide("once").runs, [at("2026-06-01T05:00:00Z")])
    assert.deepStrictEqual(decide("all").nextDueAt, Option.some(at("2026-06-01T05:10:00Z")))
  })

  it("A punctual time runs under every policy, and stands for the late ones of once", () => {
    const times = timesOf("0 * * * *")
    for (const onMissed of ["once", "all", "skip"] as const) {
      const now = DateTime.addDuration(at("2026-06-01T03:00:00Z"), punctualWithin)
      const decision = decideTick({ times, onMissed, nextDueAt: at("2026-06-01T02:00:00Z") }, now)
      assert.deepStrictEqual(decision.runs.at(-1), at("2026-06-01T03:00:00Z"))
      assert.strictEqual(decision.runs.length, onMissed === "all" ? 2 : 1)
    }
  })

  it("An expression without a further time is not due again", () => {
    assert.deepStrictEqual(findNextDue(timesOf("0 0 30 2 *"), at("2026-01-01T00:00:00Z")), Option.none())
  })
})
