import { CreditAmount, Reason } from "@berth/api/administration/AdministrationFields"
import { UserNotFound } from "@berth/domain/accounts/AccountErrors"
import { Administrators } from "@berth/domain/accounts/Administrators"
import { Users } from "@berth/domain/accounts/Users"
import { AccountSuspensions } from "@berth/domain/administration/AccountSuspensions"
import { Audit } from "@berth/domain/administration/audit/Audit"
import type { Actor } from "@berth/domain/administration/audit/AuditEntry"
import { InstanceAdministration } from "@berth/domain/administration/InstanceAdministration"
import { QueueAdministration } from "@berth/domain/administration/QueueAdministration"
import { QueueName } from "@berth/domain/jobs/JobKind"
import { describeUser, UserAdministration } from "@berth/domain/administration/UserAdministration"
import { InstanceAction } from "@berth/domain/instances/InstanceJobs"
import { parseEmail } from "@berth/domain/shared/Email"
import { PlanId } from "@berth/domain/shared/PlanId"
import type { User } from "@berth/domain/shared/User"
import { UserId } from "@berth/domain/shared/UserId"
import { Data, Effect, Option, Schema } from "effect"

export const adminUsage = `Usage: npm run admin -- <command>

  users [query]                            users by the beginning of the email address, or by id
  user <id|email>                          one account; the read is audited
  plan <id|email> <plan> --reason R        sets a plan by hand; free ends it
  credits <id|email> <amount> --reason R   gives credits; takes them by a negative amount after "--"
  suspend <id|email> --reason R            ends the sessions and stops the instance
  unsuspend <id|email> --reason R
  confirm-email <id|email> --reason R
  instances                                instances with their figures
  instance <id|email> <action> --reason R  start, stop, restart or repair, by a job
  audit [id|email]                         the audit log, or that of one user
  queues                                   queues with their jobs by state
  queue <name> pause|resume --reason R     in every worker; running jobs finish
  dead [queue]                             jobs that failed permanently, with payload and reason
  job <id> replay|discard --reason R       runs a dead letter again, or deletes it for good

Options: --json, --limit N (50), --offset N (0), --help`

/** The arguments name no command. */
export class AdminUsageInvalid extends Data.TaggedError("AdminUsageInvalid")<{ readonly reason: string }> {}

interface AdminArguments {
  readonly positionals: ReadonlyArray<string>
  readonly reason: string | undefined
  readonly limit: string
  readonly offset: string
}

const decode = <A, I>(schema: Schema.Schema<A, I>, input: unknown, reason: string) =>
  Effect.mapError(Schema.decodeUnknown(schema)(input), () => new AdminUsageInvalid({ reason }))

const PageNumber = Schema.NumberFromString.pipe(Schema.int(), Schema.nonNegative())

/** Executes one command and returns its output. */
export const runAdminCommand = Effect.fn("AdminCommand.run")(function* (actor: Actor, args: AdminArguments) {
  const administrators = yield* Administrators
  const users = yield* Users
  const administration = yield* UserAdministration
  const suspensions = yield* AccountSuspensions
  const instances = yield* InstanceAdministration
  const audit = yield* Audit
  const [command = "", target = "", value = ""] = args.positionals
  const page = {
    limit: yield* decode(PageNumber, args.limit, "--limit must be a whole number."),
    offset: yield* decode(PageNumber, args.offset, "--offset must be a whole number.")
  }
  const describe = (user: User) => describeUser(administrators, user)
  const reason = decode(Reason, args.reason, "--reason is required: 1 to 500 characters.")

  const findTarget = Effect.gen(function* () {
    if (target === "") return yield* new AdminUsageInvalid({ reason: `${command} requires a user id or an email.` })
    const email = parseEmail(target)
    if (Option.isNone(email)) return UserId.make(target)
    const { id } = yield* Effect.mapError(yield* users.findByEmail(email.value), () => new UserNotFound())
    return id
  })

  switch (command) {
    case "users": {
      const text = target === "" ? Option.none<string>() : Option.some(target)
      const matches = yield* administration.search({ text, ...page })
      return matches.users.map(describe)
    }
    case "user": {
      const { user, ...account } = yield* administration.read(actor, yield* findTarget)
      return { ...describe(user), ...account }
    }
    case "plan": {
      const plan = yield* decode(PlanId, value, `The plan must be one of: ${PlanId.literals.join(", ")}.`)
      return describe(yield* administration.changePlan(actor, yield* findTarget, plan, yield* reason))
    }
    case "credits": {
      const amount = yield* decode(CreditAmount, Number(value), "The amount must be a number other than 0.")
      return yield* administration.adjustCredits(actor, yield* findTarget, amount, yield* reason)
    }
    case "suspend":
      return describe(yield* suspensions.suspend(actor, yield* findTarget, yield* reason))
    case "unsuspend":
      return describe(yield* suspensions.unsuspend(actor, yield* findTarget, yield* reason))
    case "confirm-email":
      return describe(yield* administration.confirmEmail(actor, yield* findTarget, yield* reason))
    case "instances":
      return (yield* instances.list(page)).instances
    case "instance": {
      const action = yield* decode(
        InstanceAction,
        value,
        `The action must be one of: ${InstanceAction.literals.join(", ")}.`
      )
      yield* instances.act(actor, yield* findTarget, action, yield* reason)
      return { success: true }
    }
    case "audit": {
      const userId = target === "" ? Option.none<UserId>() : Option.some(yield* findTarget)
      return (yield* audit.list({ userId, actor: Option.none(), ...page })).entries
    }
    default:
      return yield* new AdminUsageInvalid({ reason: command === "" ? "No command." : `Unknown command: ${command}.` })
  }
})

const queueCommands = ["queues", "queue", "dead", "job"]

export const isQueueCommand = ([command = ""]: ReadonlyArray<string>): boolean => queueCommands.includes(command)

/** Executes one command on queues and returns its output. */
export const runQueueCommand = Effect.fn("AdminCommand.runQueue")(function* (actor: Actor, args: AdminArguments) {
  const queues = yield* QueueAdministration
  const [command = "queues", target = "", value = ""] = args.positionals
  const reason = decode(Reason, args.reason, "--reason is required: 1 to 500 characters.")
  const queue = decode(QueueName, target, `The queue must be one of: ${QueueName.literals.join(", ")}.`)
  const choose = <A, B>(choices: Readonly<Record<string, (reason: string) => Effect.Effect<A, B>>>) =>
    Effect.gen(function* () {
      const act = choices[value]
      if (act === undefined)
        return yield* new AdminUsageInvalid({
          reason: `The action must be one of: ${Object.keys(choices).join(", ")}.`
        })
      return yield* act(yield* reason)
    })
  switch (command) {
    case "queue": {
      const name = yield* queue
      yield* choose({
        pause: (why) => queues.pause(actor, name, why),
        resume: (why) => queues.resume(actor, name, why)
      })
      return { success: true }
    }
    case "dead": {
      const limit = yield* decode(PageNumber, args.limit, "--limit must be a whole number.")
      return yield* queues.listDead(target === "" ? Option.none() : Option.some(yield* queue), limit)
    }
    case "job":
      return {
        queue: yield* choose({
          replay: (why) => queues.replay(actor, target, why),
          discard: (why) => queues.discard(actor, target, why)
        })
      }
    default:
      return yield* queues.list
  }
})

const formatValue = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))

/** Formats one line per row below the column names, or one line per field, separated by tabs. */
export const formatOutput = (output: object): string =>
  Array.isArray(output)
    ? [
        ...output.slice(0, 1).map((row: object) => Object.keys(row)),
        ...output.map((row: object) => Object.values(row).map(formatValue))
      ]
        .map((columns) => columns.join("\t"))
        .join("\n")
    : Object.entries(output)
        .map(([name, value]) => `${name}\t${formatValue(value)}`)
        .join("\n")
