import { CardProcessor } from "@berth/domain/billing/checkout/CardProcessor"
import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { ChannelChecks } from "@berth/domain/channels/ChannelChecks"
import { ChatAnswers } from "@berth/domain/channels/ChatAnswers"
import { VerificationChecks } from "@berth/domain/verification/VerificationChecks"
import { ClaimedContents } from "@berth/domain/interaction/ClaimedContents"
import { UnclaimedExpiry } from "@berth/domain/provisioning/UnclaimedExpiry"
import { Mailer } from "@berth/domain/mail/Mailer"
import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { AgentRuns } from "@berth/domain/schedules/runs/AgentRuns"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import * as AgentManagerTest from "@berth/infra/backend/AgentManagerTest"
import { Effect, Layer } from "effect"
import { BackgroundJobs } from "../../src/jobs/BackgroundJobs.ts"

/** Ports of all job handlers; their members fail, except the agent manager's. */
export const unusedPorts = Layer.mergeAll(
  AgentManagerTest.layer,
  Layer.mock(AccountRemoval, { _tag: "@berth/AccountRemoval" }),
  Layer.mock(ClaimedContents, { _tag: "@berth/ClaimedContents" }),
  Layer.mock(UnclaimedExpiry, { _tag: "@berth/UnclaimedExpiry" }),
  Layer.mock(CardEventEffects, { _tag: "@berth/CardEventEffects" }),
  Layer.mock(ChannelChecks, { _tag: "@berth/ChannelChecks" }),
  Layer.mock(ChatAnswers, { _tag: "@berth/ChatAnswers" }),
  Layer.mock(A2aDelivery, { _tag: "@berth/A2aDelivery" }),
  Layer.mock(BackgroundJobs, { run: () => Effect.void, drain: () => Effect.void }),
  Layer.mock(AgentRuns, { _tag: "@berth/AgentRuns" }),
  Layer.mock(VerificationChecks, { _tag: "@berth/VerificationChecks" }),
  Layer.mock(CardProcessor, {}),
  Layer.mock(Mailer, {}),
  Layer.mock(SecretBox, {}),
  Layer.mock(PasswordResetMails, { _tag: "@berth/PasswordResetMails" })
)
