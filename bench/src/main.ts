import { removeStaleDirectories } from "@berth/test/support/TemporaryDirectories"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Data, DateTime, Duration, Effect, Exit, Logger, Option } from "effect"
import * as Amounts from "./RunSize.ts"
import * as Storage from "./berth/Storage.ts"
import { channels } from "./Channels.ts"
import { charges } from "./Charges.ts"
import { chats } from "./Chats.ts"
import { idleSockets } from "./IdleSockets.ts"
import { manyOwners } from "./ManyOwners.ts"
import { jobs } from "./Jobs.ts"
import { ProfileDirectory } from "./measure/Profiles.ts"
import { memory } from "./Memory.ts"
import { gateways } from "./Gateways.ts"
import { parseOptions, type ScenarioName } from "./Options.ts"
import { provisioning } from "./Provisioning.ts"
import { reads } from "./Reads.ts"
import { registrations } from "./Registrations.ts"
import { describeMachine } from "./report/Machine.ts"
import { makeResultsPath, renderReport, type Outcome, type Report, writeReport } from "./report/Report.ts"
import type { Scenario } from "./Scenario.ts"
import { sessionReads } from "./SessionReads.ts"
import { signIns } from "./SignIns.ts"
import { sleepingOwners } from "./SleepingOwners.ts"
import { startup } from "./Startup.ts"
import { streams } from "./Streams.ts"
import { wakes } from "./Wakes.ts"

const scenarios: Readonly<Record<ScenarioName, Scenario>> = {
  startup,
  provision: provisioning,
  read: reads,
  session: sessionReads,
  "sign-in": signIns,
  register: registrations,
  chat: chats,
  channels,
  gateway: gateways,
  charge: charges,
  jobs,
  stream: streams,
  memory,
  socket: idleSockets,
  crowd: manyOwners,
  wake: wakes,
  scale: sleepingOwners
}

/** Upper bound of a scenario. */
const scenarioTimeout = Duration.minutes(15)

class MeasurementsIncomplete extends Data.TaggedError("MeasurementsIncomplete")<{
  readonly failed: ReadonlyArray<ScenarioName>
}> {
  override get message() {
    return `Not measured: ${this.failed.join(", ")}`
  }
}

/** A failed scenario does not discard the results of the others. */
const runScenario = (name: ScenarioName, amounts: Amounts.RunSize) =>
  Effect.gen(function* () {
    yield* Effect.logInfo(`Measuring: ${name}`)
    const [time, exit] = yield* scenarios[name](amounts).pipe(
      Effect.scoped,
      Effect.timeout(scenarioTimeout),
      Effect.exit,
      Effect.timed
    )
    const seconds = Math.round(Duration.toSeconds(time))
    if (Exit.isSuccess(exit)) return { name, seconds, findings: exit.value } satisfies Outcome
    yield* Effect.logError(`Measuring ${name} failed`, exit.cause)
    return { name, seconds, failure: Cause.pretty(exit.cause).split("\n", 1).join("") } satisfies Outcome
  })

const program = Effect.gen(function* () {
  const options = yield* parseOptions(process.argv.slice(2))
  const amounts = options.quick ? Amounts.quickRun : Amounts.fullRun
  yield* removeStaleDirectories
  const measured = Effect.gen(function* () {
    const { name: storage } = yield* Storage.Storage
    const report: Report = {
      startedAt: yield* DateTime.now,
      options,
      storage,
      machine: yield* describeMachine,
      outcomes: []
    }
    const profiles = options.profile ? Option.some(makeResultsPath(report.startedAt)) : Option.none()
    const outcomes: ReadonlyArray<Outcome> = yield* Effect.forEach(options.only, (name) =>
      runScenario(name, amounts)
    ).pipe(Effect.provideService(ProfileDirectory, profiles))
    return { ...report, outcomes }
  })
  const report = yield* Effect.provide(measured, options.redis ? Storage.configuredStorage : Storage.embeddedStorage)
  const files = yield* writeReport(report)
  yield* Effect.sync(() => process.stdout.write(`${renderReport(report)}\n${files.join("\n")}\n`))
  const failed = report.outcomes.filter((outcome) => "failure" in outcome).map(({ name }) => name)
  if (failed.length > 0) return yield* new MeasurementsIncomplete({ failed })
})

program.pipe(
  Effect.tapError((error) => Effect.logError(error.message)),
  Effect.provide(Logger.replace(Logger.defaultLogger, Logger.prettyLogger({ stderr: true }))),
  NodeRuntime.runMain({ disablePrettyLogger: true, disableErrorReporting: true })
)
