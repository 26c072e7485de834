import type { QueueName } from "@berth/domain/jobs/JobKind"
import { JobUnsupported } from "@berth/domain/jobs/JobQueue"
import { defaultRetryPolicy, type JobRetryPolicy } from "@berth/domain/jobs/JobRetryPolicy"
import { agentProvisioningHandler } from "../instances/AgentProvisioningHandler.ts"
import { cardCustomerRemovalHandler } from "../billing/CardCustomerRemovalHandler.ts"
import { cardEventHandler } from "../billing/CardEventHandler.ts"
import { cardEventMatchHandler } from "../billing/CardEventMatchHandler.ts"
import { channelCheckHandler } from "../channels/ChannelCheckHandler.ts"
import { chatAnswerHandler } from "../channels/ChatAnswerHandler.ts"
import { instanceActionHandler } from "../instances/InstanceActionHandler.ts"
import { instanceConfigurationHandler } from "../instances/InstanceConfigurationHandler.ts"
import { instanceRemovalHandler } from "../instances/InstanceRemovalHandler.ts"
import { claimedContentsResetHandler } from "../interaction/ClaimedContentsResetHandler.ts"
import { a2aMessageHandler } from "../a2a/A2aMessageHandler.ts"
import type { JobHandler } from "./JobHandler.ts"
import { mailDeliveryHandler } from "../mail/MailDeliveryHandler.ts"
import { accountRemovalHandler } from "../recovery/AccountRemovalHandler.ts"
import { verificationCheckHandler } from "../verification/VerificationCheckHandler.ts"
import { passwordResetHandler } from "../recovery/PasswordResetHandler.ts"
import { scheduledTaskHandler, skillExecutionHandler } from "../schedules/AgentRunHandlers.ts"

const handlers = [
  a2aMessageHandler,
  instanceConfigurationHandler,
  instanceActionHandler,
  accountRemovalHandler,
  instanceRemovalHandler,
  claimedContentsResetHandler,
  mailDeliveryHandler,
  passwordResetHandler,
  cardEventHandler,
  cardEventMatchHandler,
  cardCustomerRemovalHandler,
  agentProvisioningHandler,
  channelCheckHandler,
  chatAnswerHandler,
  scheduledTaskHandler,
  skillExecutionHandler,
  verificationCheckHandler
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
