import { BackgroundJobs } from "@berth/worker/jobs/BackgroundJobs"
import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { MailedTokens } from "@berth/domain/accounts/mailed-tokens/MailedTokens"
import { Users } from "@berth/domain/accounts/Users"
import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { ChannelChecks } from "@berth/domain/channels/ChannelChecks"
import { ChatAnswers } from "@berth/domain/channels/ChatAnswers"
import { VerificationChecks } from "@berth/domain/verification/VerificationChecks"
import { ClaimedContents } from "@berth/domain/interaction/ClaimedContents"
import { UnclaimedExpiry } from "@berth/domain/provisioning/UnclaimedExpiry"
import type { CardProcessor } from "@berth/domain/billing/checkout/CardProcessor"
import { Outbox, type OutboxEntry } from "@berth/domain/jobs/Outbox"
import type { Mailer } from "@berth/domain/mail/Mailer"
import { MailOutbox, SendMailJob } from "@berth/domain/mail/MailOutbox"
import type { AgentManager } from "@berth/domain/instances/AgentManager"
import type { SecretBox } from "@berth/domain/secrets/SecretBox"
import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { AgentRuns } from "@berth/domain/schedules/runs/AgentRuns"
import { findHandler } from "@berth/worker/jobs/JobHandlers"
import { MailerTest } from "@berth/infra/mail/MailerTest"
import { Effect, Layer, Ref } from "effect"
import { findLinkToken } from "./MailText.ts"
import { SendPasswordResetJob } from "@berth/domain/recovery/password-reset/PasswordResets"

/** The worker's services for mail jobs. */
export const layer = Layer.provide(
  PasswordResetMails.Default,
  Layer.mergeAll(MailOutbox.Default, MailedTokens.Default, Users.Default)
)

const isAboutMail = ({ name }: OutboxEntry) => name === SendMailJob.name || name === SendPasswordResetJob.name

/** Services for jobs that send no mail. */
export const nothingElse = Layer.mergeAll(
  Layer.mock(BackgroundJobs, {}),
  Layer.mock(ChannelChecks, { _tag: "@berth/ChannelChecks" }),
  Layer.mock(ChatAnswers, { _tag: "@berth/ChatAnswers" }),
  Layer.mock(A2aDelivery, { _tag: "@berth/A2aDelivery" }),
  Layer.mock(AgentRuns, { _tag: "@berth/AgentRuns" }),
  Layer.mock(VerificationChecks, { _tag: "@berth/VerificationChecks" }),
  Layer.mock(ClaimedContents, { _tag: "@berth/ClaimedContents" }),
  Layer.mock(UnclaimedExpiry, { _tag: "@berth/UnclaimedExpiry" }),
  Layer.mock(AccountRemoval, { _tag: "@berth/AccountRemoval" }),
  Layer.mock(CardEventEffects, { _tag: "@berth/CardEventEffects" })
)

type Worked = Outbox | CardProcessor | Mailer | PasswordResetMails | SecretBox | AgentManager

/** Runs the worker's mail jobs until none remains; returns their entries. */
export const processMailJobs: Effect.Effect<ReadonlyArray<OutboxEntry>, never, Worked> = Effect.gen(function* () {
  const outbox = yield* Outbox
  const done = yield* Ref.make<ReadonlyArray<OutboxEntry>>([])
  const handle = (entry: OutboxEntry) =>
    isAboutMail(entry)
      ? findHandler(entry.queue)({ ...entry, attempt: 1, isLastAttempt: false }).pipe(
          Effect.provide(nothingElse),
          Effect.zipRight(Ref.update(done, (current) => [...current, entry])),
          Effect.orDie
        )
      : Effect.void
  yield* Effect.repeat(
    outbox.relay(100, (entry) => Effect.zipRight(handle(entry), outbox.settle(entry.id))),
    { until: (count) => count === 0 }
  )
  return yield* done
})

/** The mails to an address, oldest first, after all pending mails are sent. */
export const readMailsTo = (address: string) =>
  Effect.gen(function* () {
    yield* processMailJobs
    const { sent } = yield* MailerTest
    return (yield* sent).filter(({ to }) => to.toLowerCase() === address.toLowerCase())
  })

const lastToken = (path: string) => (address: string) =>
  Effect.map(readMailsTo(address), (mails) => {
    const tokens = mails.map(({ text }) => findLinkToken(text, path)).filter((token) => token !== "")
    return tokens.at(-1) ?? ""
  })

/** The token of the last password reset link mailed to an address; empty if there is none. */
export const findResetToken = lastToken("/reset-password")
export const findUndoToken = lastToken("/undo-email-change")
export const findVerificationToken = lastToken("/api/auth/verify-email")
