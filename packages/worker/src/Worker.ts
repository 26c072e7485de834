import { Layer } from "effect"
import * as OldPayments from "./gateway/OldPayments.ts"
import * as AbandonedTurns from "./interaction/AbandonedTurns.ts"
import * as ExpiredAnswerEvents from "./interaction/ExpiredAnswerEvents.ts"
import * as Consumers from "./jobs/Consumers.ts"
import * as OutboxRelay from "./jobs/OutboxRelay.ts"
import * as StuckAgents from "./jobs/StuckAgents.ts"
import * as ExpiredIdempotencyKeys from "./limits/ExpiredIdempotencyKeys.ts"
import * as ExpiredSessions from "./sessions/ExpiredSessions.ts"
import * as UsedWalletNonces from "./signin/UsedWalletNonces.ts"

/** Everything a worker does, over the domain's ports: the jobs, and what has to be looked after now and again. */
export const layer = (options: Consumers.ConsumerOptions & ExpiredAnswerEvents.RetentionOptions) =>
  Layer.mergeAll(
    Consumers.layer(options),
    OutboxRelay.layer,
    StuckAgents.layer,
    AbandonedTurns.layer,
    ExpiredAnswerEvents.layer(options),
    ExpiredSessions.layer,
    UsedWalletNonces.layer,
    OldPayments.layer,
    ExpiredIdempotencyKeys.layer
  )
