import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { SavedCardCharges } from "@berth/domain/billing/checkout/SavedCardCharges"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { ChannelReaders } from "@berth/domain/channels/ChannelReaders"
import { ChannelRecovery } from "@berth/domain/channels/ChannelRecovery"
import { AgentLiveStreams } from "@berth/domain/provisioning/live-streams/AgentLiveStreams"
import { LiveIngest } from "@berth/domain/provisioning/live-streams/LiveIngest"
import { UnclaimedExpiry } from "@berth/domain/provisioning/UnclaimedExpiry"
import { VerificationChecks } from "@berth/domain/verification/VerificationChecks"
import { PaymentDispatch } from "@berth/domain/wallets/payments/PaymentDispatch"
import { type Duration, Effect, Layer } from "effect"
import { runRecurringTask } from "./jobs/RecurringTask.ts"

const untraced = <A, E, R>(name: string, pause: Duration.DurationInput, work: Effect.Effect<A, E, R>) =>
  runRecurringTask(name, pause, Effect.withTracerEnabled(work, false))

const retryOverdueEvents = Effect.flatMap(CardEventEffects, (effects) =>
  Effect.tap(effects.retryOverdue, (events) =>
    events > 0
      ? Effect.logWarning("Jobs of unapplied card events added again").pipe(Effect.annotateLogs({ events }))
      : Effect.void
  )
)

// A process can die between a charge and its booking; the card processor has the result.
const reconcileCharges = Effect.flatMap(SavedCardCharges, ({ reconcileOpenCharges }) => reconcileOpenCharges).pipe(
  Effect.tap((charges) =>
    charges > 0 ? Effect.logInfo("Open charges reconciled").pipe(Effect.annotateLogs({ charges })) : Effect.void
  )
)

/** Recurring tasks of the domain's services. */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { failLost } = yield* A2aDelivery
    yield* runRecurringTask("lost messages between agents", "10 minutes", failLost())

    yield* runRecurringTask("retry overdue card events", "1 minute", retryOverdueEvents)
    yield* runRecurringTask("reconcile open charges", "1 minute", reconcileCharges)

    const payments = yield* PaymentDispatch
    yield* runRecurringTask("recover wallet payments", "10 seconds", payments.recover)

    const { readUnread } = yield* ChannelReaders
    const { repeatChecks, resumeChats } = yield* ChannelRecovery
    yield* untraced("read channels", "2 seconds", readUnread)
    yield* untraced("resume chats", "1 second", resumeChats)
    yield* untraced("check channels", "30 seconds", repeatChecks)

    const ingest = yield* LiveIngest
    const streams = yield* AgentLiveStreams
    yield* untraced("end idle broadcasts", "10 seconds", ingest.endIdleBroadcasts())
    yield* untraced("record broadcasts at the provider", "10 seconds", streams.recordBroadcasts())
    yield* untraced("replace due stream keys", "10 seconds", streams.rotateDueKeys())
    yield* untraced("end abandoned live streams", "10 seconds", streams.endAbandoned())
    yield* untraced("retention of live files", "10 seconds", ingest.pruneFiles)

    const unclaimed = yield* UnclaimedExpiry
    yield* untraced("expiry of unclaimed agents", "1 minute", unclaimed.run())

    const verifications = yield* VerificationChecks
    yield* untraced("checks of verifications", "1 minute", verifications.scheduleDue())
  })
).pipe(
  Layer.provide(
    Layer.mergeAll(
      ChannelReaders.Default,
      ChannelRecovery.Default,
      LiveIngest.Default,
      PaymentDispatch.Default,
      UnclaimedExpiry.Default
    )
  ),
  Layer.provide(AgentLiveStreams.Default)
)
