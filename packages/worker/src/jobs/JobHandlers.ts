import type { AccountInUse } from "@berth/domain/accounts/AccountErrors"
import type { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import type { CardProcessor, CardProcessorError } from "@berth/domain/billing/checkout/CardProcessor"
import type { AgentManager } from "@berth/domain/instances/AgentManager"
import type { BackendUnavailable, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import type { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { type QueueName } from "@berth/domain/jobs/JobKind"
import { JobPermanentlyFailed, type RunningJob } from "@berth/domain/jobs/JobQueue"
import type { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import type { Mailer, MailServiceUnavailable } from "@berth/domain/mail/Mailer"
import type { SecretBox } from "@berth/domain/secrets/SecretBox"
import type { Effect } from "effect"
import { handlePasswordReset } from "../recovery/PasswordResetHandler.ts"
import { handleCardEvent } from "../billing/CardEventHandler.ts"
import { handleCardEventMatch } from "../billing/CardEventMatchHandler.ts"
import { handleCardCustomerRemoval } from "../billing/CardCustomerRemovalHandler.ts"
import { handleInstanceConfiguration } from "../instances/InstanceConfigurationHandler.ts"
import { handleAccountRemoval } from "../recovery/AccountRemovalHandler.ts"
import { handleMailDelivery } from "../mail/MailDeliveryHandler.ts"
import { handleAgentProvisioning } from "../agents/AgentProvisioningHandler.ts"
import { SendMailJob } from "@berth/domain/mail/MailJobs"
import { SendPasswordResetJob } from "@berth/domain/recovery/password-reset/PasswordResetJobs"
import { RemoveAccountJob } from "@berth/domain/recovery/deletion/AccountDeletionJobs"
import { ApplyCardEventJob } from "@berth/domain/billing/events/CardEventJobs"
import { RemoveCardCustomersJob } from "@berth/domain/billing/checkout/CardCustomerJobs"
import { ProvisionAgentJob, ReconfigureInstanceJob } from "@berth/domain/agents/AgentJobs"
import { EmailAddressConfirmedJob } from "@berth/domain/accounts/AccountJobs"

type JobFailure =
  | JobPermanentlyFailed
  | BackendUnavailable
  | CardProcessorError
  | InstanceUnavailable
  | MailServiceUnavailable
  | AccountInUse

type JobHandler = (
  job: RunningJob
) => Effect.Effect<
  void,
  JobFailure,
  AgentManager | AccountRemoval | CardEventEffects | CardProcessor | Mailer | PasswordResetMails | SecretBox
>

/** What is done for each kind of job. */
const handlers: Record<QueueName, ReadonlyMap<string, JobHandler>> = {
  tasks: new Map<string, JobHandler>([
    [ReconfigureInstanceJob.name, handleInstanceConfiguration],
    [RemoveAccountJob.name, handleAccountRemoval],
    [SendMailJob.name, handleMailDelivery],
    [SendPasswordResetJob.name, handlePasswordReset],
    [ApplyCardEventJob.name, handleCardEvent],
    [EmailAddressConfirmedJob.name, handleCardEventMatch],
    [RemoveCardCustomersJob.name, handleCardCustomerRemoval]
  ]),
  provision: new Map([[ProvisionAgentJob.name, handleAgentProvisioning]])
}

/** A job of a kind that this worker does not know goes to the dead letters, where a newer one can replay it from. */
export const findHandler =
  (queue: QueueName): JobHandler =>
  (job) =>
    handlers[queue].get(job.name)?.(job) ??
    new JobPermanentlyFailed({ reason: `this worker knows no job "${job.name}" in the queue "${queue}"` })
