import type { AccountIsInUse } from "@berth/domain/accounts/AccountDeletionErrors"
import type { AccountRemoval } from "@berth/domain/accounts/AccountRemoval"
import type { CardProcessor, CardProcessorTrouble } from "@berth/domain/billing/CardProcessor"
import type { AgentManager } from "@berth/domain/instances/AgentManager"
import type { BackendIsUnavailable, CellIsUnavailable } from "@berth/domain/instances/InstanceErrors"
import type { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import {
  ApplyCardEvent,
  ForgetCardCustomers,
  ForgottenPassword,
  MatchCardEvents,
  NewAgent,
  type QueueName,
  ReconfigureInstance,
  RemoveAccount,
  SendMail
} from "@berth/domain/jobs/Job"
import { JobIsHopeless, type RunningJob } from "@berth/domain/jobs/JobQueue"
import type { PasswordResetMails } from "@berth/domain/accounts/PasswordResetMails"
import type { Mailer, MailIsUnavailable } from "@berth/domain/mail/Mailer"
import type { SecretBox } from "@berth/domain/secrets/SecretBox"
import type { Effect } from "effect"
import { forgottenPassword } from "../accounts/ForgottenPasswordJob.ts"
import { applyCardEvent } from "../billing/ApplyCardEventJob.ts"
import { matchCardEvents } from "../billing/MatchCardEventsJob.ts"
import { forgetCardCustomers } from "../billing/ForgetCardCustomersJob.ts"
import { reconfigureInstance } from "../instances/ReconfigureInstanceJob.ts"
import { removeAccount } from "../accounts/RemoveAccountJob.ts"
import { sendMail } from "../mail/SendMailJob.ts"
import { newAgent } from "../provisioning/NewAgentJob.ts"

type Failure =
  JobIsHopeless | BackendIsUnavailable | CardProcessorTrouble | CellIsUnavailable | MailIsUnavailable | AccountIsInUse

type Handler = (
  job: RunningJob
) => Effect.Effect<
  void,
  Failure,
  AgentManager | AccountRemoval | CardEventEffects | CardProcessor | Mailer | PasswordResetMails | SecretBox
>

/** What is done for each kind of job. */
const handlers: Record<QueueName, ReadonlyMap<string, Handler>> = {
  tasks: new Map<string, Handler>([
    [ReconfigureInstance.name, reconfigureInstance],
    [RemoveAccount.name, removeAccount],
    [SendMail.name, sendMail],
    [ForgottenPassword.name, forgottenPassword],
    [ApplyCardEvent.name, applyCardEvent],
    [MatchCardEvents.name, matchCardEvents],
    [ForgetCardCustomers.name, forgetCardCustomers]
  ]),
  provision: new Map([[NewAgent.name, newAgent]])
}

/** A job of a kind that this worker does not know goes to the dead letters, where a newer one can replay it from. */
export const handlerOf =
  (queue: QueueName): Handler =>
  (job) =>
    handlers[queue].get(job.name)?.(job) ??
    new JobIsHopeless({ reason: `this worker knows no job "${job.name}" in the queue "${queue}"` })
