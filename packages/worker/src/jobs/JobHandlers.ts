import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { makeDeliverA2aMessageJob } from "@berth/domain/a2a/A2aJobs"
import { EmailAddressConfirmedJob } from "@berth/domain/accounts/AccountJobs"
import { ReconfigureInstanceJob } from "@berth/domain/agents/AgentJobs"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { ChannelChecks } from "@berth/domain/channels/ChannelChecks"
import type { ChannelKey } from "@berth/domain/channels/ChannelConnection"
import { AnswerChatJob, CheckChannelJob } from "@berth/domain/channels/ChannelJobs"
import { ChatAnswers } from "@berth/domain/channels/ChatAnswers"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { InstanceActionJob } from "@berth/domain/instances/InstanceJobs"
import { ClaimedContents } from "@berth/domain/interaction/ClaimedContents"
import type { JobKind, QueueName } from "@berth/domain/jobs/JobKind"
import { JobPermanentlyFailed, JobUnsupported } from "@berth/domain/jobs/JobQueue"
import { defaultRetryPolicy, type JobRetryPolicy } from "@berth/domain/jobs/JobRetryPolicy"
import { ResetClaimedContentsJob } from "@berth/domain/recovery/claims/ClaimNotices"
import { AccountRemovedJob, RemoveAccountJob } from "@berth/domain/recovery/deletion/AccountDeletionJobs"
import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { AgentRuns } from "@berth/domain/schedules/runs/AgentRuns"
import { ScheduledTaskJob, SkillExecutionJob } from "@berth/domain/schedules/ScheduleJobs"
import type { UserId } from "@berth/domain/shared/UserId"
import { CheckVerificationJob, VerificationChecks } from "@berth/domain/verification/VerificationChecks"
import { DateTime, Effect } from "effect"
import { agentProvisioningHandler } from "../instances/AgentProvisioningHandler.ts"
import { backgroundJobHandler, jobHandler, type JobHandler } from "./JobHandler.ts"
import { RemoveCardCustomersJob } from "@berth/domain/billing/checkout/CardCustomers"
import { CardProcessor, CardSubscriptionId, type CustomerId } from "@berth/domain/billing/checkout/CardProcessor"
import { ApplyCardEventJob } from "@berth/domain/billing/events/CardEvent"
import { deliverMail, SendMailJob } from "@berth/domain/mail/MailOutbox"
import { SendPasswordResetJob } from "@berth/domain/recovery/password-reset/PasswordResets"
import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { parseEmail } from "@berth/domain/shared/Email"

/**
 * Mails a reset link if the address belongs to an account. The job id identifies the request, so that retries send no
 * second mail.
 */
export const passwordResetHandler = jobHandler(SendPasswordResetJob, ({ email }, job) =>
  Effect.gen(function* () {
    const mails = yield* PasswordResetMails
    const address = yield* Effect.mapError(
      parseEmail(email),
      () => new JobPermanentlyFailed({ reason: "The payload holds no email address" })
    )
    yield* mails.send(job.id, address)
  })
)

/** Retries use the same message id. Expired, rejected and unreadable mails fail permanently. */
export const mailDeliveryHandler = jobHandler(SendMailJob, (sealedMail) =>
  Effect.gen(function* () {
    yield* Effect.annotateCurrentSpan({ "mail.id": sealedMail.mailId })
    if (DateTime.greaterThanOrEqualTo(yield* DateTime.now, sealedMail.expiresAt))
      return yield* new JobPermanentlyFailed({ reason: "The mail expired before it could be sent" })
    yield* deliverMail(sealedMail).pipe(
      Effect.catchTags({
        SecretUndecryptable: ({ reason }) =>
          new JobPermanentlyFailed({ reason: `The mail cannot be opened: ${reason}` }),
        ParseError: () => new JobPermanentlyFailed({ reason: "The sealed content is not a mail" }),
        MailRejected: ({ message }) => new JobPermanentlyFailed({ reason: message })
      })
    )
    yield* Effect.logInfo("Mail sent").pipe(Effect.annotateLogs({ mailId: sealedMail.mailId }))
  })
)

const cardEventHandler = jobHandler(ApplyCardEventJob, ({ eventId }) =>
  Effect.flatMap(CardEventEffects, (effects) =>
    Effect.mapError(
      effects.apply(eventId),
      ({ reason }) => new JobPermanentlyFailed({ reason: `The event ${eventId} is unreadable: ${reason}` })
    )
  )
)

/** Ends the subscriptions and removes the cards of customers whose account was deleted. */
const cardCustomerRemovalHandler = jobHandler(RemoveCardCustomersJob, ({ customerIds }) =>
  Effect.flatMap(CardProcessor, (processor) => {
    // Events without a customer name the subscription.
    const remove = (id: CustomerId) =>
      id.startsWith("sub_") ? processor.cancelSubscription(CardSubscriptionId.make(id)) : processor.removeCustomer(id)
    return Effect.forEach(customerIds, remove, { discard: true })
  })
)

const userJobHandler = <A extends { readonly userId: UserId }, I, E, R>(
  kind: JobKind<A, I>,
  handle: (payload: A) => Effect.Effect<void, E, R>
) =>
  jobHandler(kind, (payload) =>
    Effect.zipRight(Effect.annotateCurrentSpan({ "user.id": payload.userId }), handle(payload))
  )

const channelJobHandler = <A extends ChannelKey, I, E, R>(
  kind: JobKind<A, I>,
  handle: (payload: A) => Effect.Effect<void, E, R>
) =>
  jobHandler(kind, (payload) =>
    Effect.zipRight(
      Effect.annotateCurrentSpan({ "agent.id": payload.agentId, "channel.platform": payload.platform }),
      handle(payload)
    )
  )

const agentRunHandler = (kind: typeof ScheduledTaskJob) =>
  backgroundJobHandler(kind, ({ runId }, { isLastAttempt }) =>
    Effect.flatMap(AgentRuns, (runs) => runs.execute(runId, isLastAttempt))
  )

export const a2aMessageHandler = backgroundJobHandler(
  makeDeliverA2aMessageJob(1, "normal"),
  ({ id }, { isLastAttempt }) => Effect.flatMap(A2aDelivery, ({ deliver }) => deliver(id, isLastAttempt))
)

/** Checks a connection. An unreachable platform does not fail the job: the check is repeated later. */
export const channelCheckHandler = channelJobHandler(CheckChannelJob, (key) =>
  Effect.flatMap(ChannelChecks, ({ check }) => check(key))
)

export const accountRemovalHandler = userJobHandler(RemoveAccountJob, ({ userId }) =>
  Effect.flatMap(AccountRemoval, ({ remove }) => remove(userId))
)

/** Removes the instance and the files of a deleted account; without rows nothing can start the instance again. */
export const instanceRemovalHandler = userJobHandler(AccountRemovedJob, ({ userId }) =>
  Effect.flatMap(AgentManager, ({ remove }) => remove(userId))
)

export const scheduledTaskHandler = agentRunHandler(ScheduledTaskJob)
export const skillExecutionHandler = agentRunHandler(SkillExecutionJob)

const handlers = [
  a2aMessageHandler,
  accountRemovalHandler,
  agentProvisioningHandler,
  cardCustomerRemovalHandler,
  cardEventHandler,
  channelCheckHandler,
  instanceRemovalHandler,
  mailDeliveryHandler,
  passwordResetHandler,
  scheduledTaskHandler,
  skillExecutionHandler,
  // Applies card events received for the user's email address before its confirmation.
  userJobHandler(EmailAddressConfirmedJob, ({ userId }) =>
    Effect.flatMap(CardEventEffects, ({ matchUser }) => matchUser(userId))
  ),
  // Starts answering the pending messages of a chat. `ChannelRecovery` resumes a chat whose worker died.
  channelJobHandler(AnswerChatJob, (chat) => Effect.flatMap(ChatAnswers, ({ start }) => start(chat))),
  // Applies the current agents to the owner's instance, and deletes the files of deleted agents.
  userJobHandler(ReconfigureInstanceJob, ({ userId }) =>
    Effect.flatMap(AgentManager, ({ reconfigure }) => reconfigure(userId))
  ),
  // An administrator's action on an instance; no effect if the instance was deleted.
  userJobHandler(InstanceActionJob, ({ action, userId }) =>
    Effect.flatMap(AgentManager, (manager) =>
      Effect.catchTag(manager[action](userId), "InstanceNotFound", () => Effect.void)
    )
  ),
  userJobHandler(ResetClaimedContentsJob, ({ userId }) =>
    Effect.flatMap(ClaimedContents, ({ reset }) => reset(userId))
  ),
  jobHandler(CheckVerificationJob, ({ verificationId }) =>
    Effect.flatMap(VerificationChecks, ({ check }) => check(verificationId))
  )
]

/** Kinds of jobs that this worker supports. */
export const handledJobs = handlers.map(({ kind: { name, queue } }) => ({ queue, name }))

type AnyHandler = (typeof handlers)[number] extends JobHandler<infer E, infer R> ? JobHandler<E, R> : never

const findByName = (queue: QueueName, name: string): AnyHandler | undefined =>
  handlers.find(({ kind }) => kind.queue === queue && kind.name === name)

export const findRetryPolicy =
  (queue: QueueName) =>
  (name: string): JobRetryPolicy =>
    findByName(queue, name)?.kind.retryPolicy ?? defaultRetryPolicy

/** A job of an unknown kind waits for a newer worker. */
export const findHandler =
  (queue: QueueName): AnyHandler["handle"] =>
  (job) =>
    findByName(queue, job.name)?.handle(job) ??
    new JobUnsupported({ reason: `This worker has no handler for ${job.name} in the queue ${queue}` })
