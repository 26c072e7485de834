import { QueueName } from "@berth/domain/jobs/JobKind"
import { Actor, ListedAuditEntry } from "@berth/domain/administration/audit/AuditEntry"
import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { SubscriptionStatus } from "@berth/domain/billing/subscriptions/Subscription"
import { DesiredState } from "@berth/domain/instances/Instance"
import { AgentId } from "@berth/domain/shared/AgentId"
import { PlanId } from "@berth/domain/shared/PlanId"
import { UserId } from "@berth/domain/shared/UserId"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { UserNotFoundBody } from "../accounts/AccountErrorBodies.ts"
import { ProviderStatusBody } from "../gateway/plugins/ModelAnswersApi.ts"
import { pageLimit, pageOf, pageOffset, pageQuery } from "../http/Pagination.ts"
import { payload } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import {
  AdministratorProtectedBody,
  CardSubscriptionActiveBody,
  CreditsInsufficientBody,
  UserInstanceMissingBody,
  UserSuspendedBody
} from "./AdministrationErrorBodies.ts"
import { CreditAmount, Reason } from "./AdministrationFields.ts"
import { AdministratorAuth } from "./AdministratorAuth.ts"
import { DeadLetterList, DeadLetterNotFoundBody } from "../jobs/JobsApi.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"

const userPath = Schema.Struct({ id: UserId })
const reasonPayload = payload({ reason: Reason })

const AdministeredUser = Schema.Struct({
  id: UserId,
  email: Schema.String,
  emailVerified: Schema.Boolean,
  name: Schema.String,
  plan: PlanId,
  credits: Schema.Number,
  suspendedAt: Schema.NullOr(Timestamp).annotations({ description: "Null for an active account" }),
  isAdministrator: Schema.Boolean,
  createdAt: Timestamp
}).annotations({ identifier: "AdministeredUser" })

const AdministeredAccount = Schema.Struct({
  ...AdministeredUser.fields,
  subscription: Schema.NullOr(
    Schema.Struct({
      plan: PlanId,
      status: SubscriptionStatus,
      byCard: Schema.Boolean.annotations({ description: "False for a plan that an administrator set" })
    })
  ),
  units: Schema.Struct({ dailyUnits: Schema.Int, used: Schema.Int, remaining: Schema.Int }).annotations({
    description: "Of the current UTC day"
  }),
  agents: Schema.Array(
    Schema.Struct({ id: AgentId, name: Schema.String, model: Schema.String, status: AgentStatus, createdAt: Timestamp })
  ),
  instance: Schema.NullOr(
    Schema.Struct({
      status: AgentStatus,
      desired: DesiredState,
      startedAt: Schema.NullOr(Timestamp),
      runtimeVersion: Schema.NullOr(Schema.String)
    })
  )
}).annotations({ identifier: "AdministeredAccount" })

const users = HttpApiEndpoint.get("users", "/api/ops/users")
  .setUrlParams(
    Schema.Struct({
      query: Schema.optional(Schema.String).annotations({
        description: "A prefix of an email address, or a user id"
      }),
      limit: pageLimit,
      offset: pageOffset
    })
  )
  .addSuccess(
    pageOf({
      users: Schema.Array(AdministeredUser)
    })
  )
  .annotate(OpenApi.Summary, "List users")
  .annotate(OpenApi.Description, "Newest first.")

const user = HttpApiEndpoint.get("user", "/api/ops/users/:id")
  .setPath(userPath)
  .addSuccess(AdministeredAccount)
  .addError(UserNotFoundBody)
  .annotate(OpenApi.Summary, "Retrieve a user")
  .annotate(OpenApi.Description, "Returns the account without secrets and without conversations. The read is audited.")

const plan = HttpApiEndpoint.put("plan", "/api/ops/users/:id/plan")
  .setPath(userPath)
  .setPayload(payload({ plan: PlanId, reason: Reason }))
  .addSuccess(AdministeredUser)
  .addError(UserNotFoundBody)
  .addError(CardSubscriptionActiveBody)
  .annotate(OpenApi.Summary, "Set a plan without payment")
  .annotate(
    OpenApi.Description,
    "Sets the plan without the card processor; `free` removes it. A later card subscription replaces it. 409 while a card pays for the plan."
  )

const credits = HttpApiEndpoint.post("credits", "/api/ops/users/:id/credits")
  .setPath(userPath)
  .setPayload(payload({ amount: CreditAmount, reason: Reason }))
  .addSuccess(Schema.Struct({ credits: Schema.Number.annotations({ description: "The balance" }) }))
  .addError(UserNotFoundBody)
  .addError(CreditsInsufficientBody)
  .addError(IdempotencyErrors)
  .annotate(OpenApi.Summary, "Adjust credits")
  .annotate(
    OpenApi.Description,
    "Books the amount in the ledger. Requests with the same Idempotency-Key are one adjustment. 409 if the balance does not cover a deduction."
  )

const confirmEmail = HttpApiEndpoint.post("confirmEmail", "/api/ops/users/:id/confirm-email")
  .setPath(userPath)
  .setPayload(reasonPayload)
  .addSuccess(AdministeredUser)
  .addError(UserNotFoundBody)
  .annotate(OpenApi.Summary, "Confirm an email address")
  .annotate(OpenApi.Description, "Confirms the present address, like its mailed link. Idempotent.")

const suspend = HttpApiEndpoint.post("suspend", "/api/ops/users/:id/suspend")
  .setPath(userPath)
  .setPayload(reasonPayload)
  .addSuccess(AdministeredUser)
  .addError(UserNotFoundBody)
  .addError(AdministratorProtectedBody)
  .annotate(OpenApi.Summary, "Suspend an account")
  .annotate(
    OpenApi.Description,
    "Revokes all sessions, closes sockets and streams, rejects every credential and stops the instance. The card subscription continues. Idempotent."
  )

const unsuspend = HttpApiEndpoint.post("unsuspend", "/api/ops/users/:id/unsuspend")
  .setPath(userPath)
  .setPayload(reasonPayload)
  .addSuccess(AdministeredUser)
  .addError(UserNotFoundBody)
  .annotate(OpenApi.Summary, "End a suspension")
  .annotate(
    OpenApi.Description,
    "The owner can sign in again; a suspended instance starts with the next message. Idempotent."
  )

const instances = HttpApiEndpoint.get("instances", "/api/ops/instances")
  .setUrlParams(pageQuery)
  .addSuccess(
    pageOf({
      instances: Schema.Array(
        Schema.Struct({
          userId: UserId,
          ownerEmail: Schema.String,
          ownerName: Schema.String,
          status: AgentStatus,
          desired: DesiredState,
          startedAt: Schema.NullOr(Timestamp),
          runtimeVersion: Schema.NullOr(Schema.String),
          cpuPercent: Schema.NullOr(Schema.Number).annotations({ description: "Of one core" }),
          memoryBytes: Schema.NullOr(Schema.Int)
        })
      )
    })
  )
  .annotate(OpenApi.Summary, "List instances")
  .annotate(OpenApi.Description, "Newest first. Figures are null while an instance or its backend is down.")

const actionDescription =
  "202: a job performs the action. 409 for an instance of a suspended account, which can only be stopped."

const instanceAction = <const Name extends string, Path extends `/${string}`>(
  name: Name,
  path: Path,
  summary: string
) =>
  HttpApiEndpoint.post(name, path)
    .setPath(Schema.Struct({ userId: UserId }))
    .setPayload(reasonPayload)
    .addSuccess(Schema.Struct({ success: Schema.Boolean }), { status: 202 })
    .addError(UserNotFoundBody)
    .addError(UserInstanceMissingBody)
    .addError(UserSuspendedBody)
    .annotate(OpenApi.Summary, summary)
    .annotate(OpenApi.Description, actionDescription)

const AuditEntryView = Schema.Struct({ ...ListedAuditEntry.fields, createdAt: Timestamp }).annotations({
  identifier: "AuditEntry"
})

const audit = HttpApiEndpoint.get("audit", "/api/ops/audit")
  .setUrlParams(
    Schema.Struct({
      user: Schema.optional(UserId),
      actor: Schema.optional(Actor),
      limit: pageLimit,
      offset: pageOffset
    })
  )
  .addSuccess(
    pageOf({
      entries: Schema.Array(AuditEntryView)
    })
  )
  .annotate(OpenApi.Summary, "List audit entries")
  .annotate(
    OpenApi.Description,
    "Newest first, with the present email addresses of actor and user; optionally of one user or one actor. No route changes or deletes entries."
  )

const queuePath = Schema.Struct({ queue: QueueName })
const QueueView = Schema.Struct({
  name: QueueName,
  paused: Schema.Boolean,
  waiting: Schema.Int,
  active: Schema.Int,
  delayed: Schema.Int.annotations({ description: "Jobs that wait for their next attempt" }),
  completed: Schema.Int,
  dead: Schema.Int.annotations({ description: "Jobs that failed permanently" })
}).annotations({ identifier: "QueueView" })

const queues = HttpApiEndpoint.get("queues", "/api/ops/queues")
  .addSuccess(Schema.Struct({ queues: Schema.Array(QueueView) }))
  .annotate(OpenApi.Summary, "List queues")
  .annotate(OpenApi.Description, "Jobs by state. Excludes waiting jobs of owners with four jobs in flight.")

const changeQueue = <const Name extends string, Path extends `/${string}`>(
  name: Name,
  path: Path,
  summary: string,
  description: string
) =>
  HttpApiEndpoint.post(name, path)
    .setPath(queuePath)
    .setPayload(reasonPayload)
    .addSuccess(Schema.Struct({ success: Schema.Boolean }))
    .annotate(OpenApi.Summary, summary)
    .annotate(OpenApi.Description, description)

const providers = HttpApiEndpoint.get("providers", "/api/ops/providers")
  .addSuccess(Schema.Struct({ providers: Schema.Array(ProviderStatusBody) }))
  .annotate(OpenApi.Summary, "List model providers")
  .annotate(
    OpenApi.Description,
    "The configured providers with their health since the start of the backend that responds. Excludes calls with owners' keys."
  )

const deadJobs = HttpApiEndpoint.get("deadJobs", "/api/ops/queues/dead")
  .setUrlParams(Schema.Struct({ queue: Schema.optional(QueueName), limit: pageLimit }))
  .addSuccess(DeadLetterList)
  .annotate(OpenApi.Summary, "List dead letters")
  .annotate(OpenApi.Description, "Newest first, with payload and reason; of one queue, or of each.")

const changeDeadJob = <const Name extends string, Path extends `/${string}`>(
  name: Name,
  path: Path,
  summary: string,
  description: string
) =>
  HttpApiEndpoint.post(name, path)
    .setPath(Schema.Struct({ id: Schema.String }))
    .setPayload(reasonPayload)
    .addSuccess(Schema.Struct({ success: Schema.Boolean, queue: QueueName }))
    .addError(DeadLetterNotFoundBody)
    .annotate(OpenApi.Summary, summary)
    .annotate(OpenApi.Description, description)

export class AdministrationApi extends HttpApiGroup.make("administration")
  .add(users)
  .add(user)
  .add(plan)
  .add(credits)
  .add(confirmEmail)
  .add(suspend)
  .add(unsuspend)
  .add(instances)
  .add(instanceAction("startInstance", "/api/ops/instances/:userId/start", "Start an instance"))
  .add(instanceAction("stopInstance", "/api/ops/instances/:userId/stop", "Stop an instance"))
  .add(instanceAction("restartInstance", "/api/ops/instances/:userId/restart", "Restart an instance"))
  .add(instanceAction("repairInstance", "/api/ops/instances/:userId/repair", "Rebuild an instance"))
  .add(queues)
  .add(
    changeQueue(
      "pauseQueue",
      "/api/ops/queues/:queue/pause",
      "Pause a queue",
      "No worker starts a job of it until it is resumed; running ones finish. Idempotent."
    )
  )
  .add(changeQueue("resumeQueue", "/api/ops/queues/:queue/resume", "Resume a queue", "Idempotent."))
  .add(providers)
  .add(deadJobs)
  .add(
    changeDeadJob(
      "replayJob",
      "/api/ops/queues/dead/:id/replay",
      "Replay a dead letter",
      "The job has all its attempts again."
    )
  )
  .add(changeDeadJob("discardJob", "/api/ops/queues/dead/:id/discard", "Discard a dead letter", "Deletes it for good."))
  .add(audit)
  .annotateEndpointsContext(acceptApiKeys("admin"))
  .middleware(AdministratorAuth)
  .addError(InternalFailureBody) {}
