import { Users } from "@berth/domain/accounts/Users"
import { AgentLimits } from "@berth/domain/agents/AgentLimits"
import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { PlanChanges } from "@berth/domain/billing/events/PlanChanges"
import { MailOutbox } from "@berth/domain/mail/MailOutbox"
import { Layer } from "effect"

/** What follows from events of the card processor, over the ports. */
export const layer = CardEventEffects.Default.pipe(
  Layer.provide(PlanChanges.Default),
  Layer.provide(Layer.mergeAll(Users.Default, Allowances.Default, AgentLimits.Default, MailOutbox.Default))
)
