import { Effect, Layer } from "effect"
import { AccountDeletionHooks } from "../recovery/deletion/AccountDeletion.ts"
import { BillingActions } from "./BillingActions.ts"
import { CardCustomers } from "./checkout/CardCustomers.ts"
import { CheckoutLinks } from "./checkout/CheckoutLinks.ts"
import { Checkouts } from "./checkout/Checkouts.ts"
import { SavedCardCharges } from "./checkout/SavedCardCharges.ts"
import { CardEventEffects } from "./events/CardEventEffects.ts"
import { CardEventInbox } from "./events/CardEventInbox.ts"
import { PlanChanges } from "./events/PlanChanges.ts"
import { ManualPlans } from "./subscriptions/ManualPlans.ts"
import { SubscriptionChanges } from "./subscriptions/SubscriptionChanges.ts"
import { Allowances } from "./subscriptions/Allowances.ts"
import { UnitLedger } from "./units/UnitLedger.ts"

/** Units and allowances; required by every program. */
export const balances = Layer.merge(UnitLedger.Default, Allowances.Default)

const cards = Layer.provideMerge(SavedCardCharges.Default, CardCustomers.Default)

export const plans = Layer.provideMerge(ManualPlans.Default, SubscriptionChanges.Default)

export const layer = Layer.mergeAll(BillingActions.Default, CheckoutLinks.Default, plans).pipe(
  Layer.provide(Checkouts.Default),
  Layer.merge(CardEventInbox.Default),
  Layer.provide(cards)
)

export const deletionHooks = Layer.effect(
  AccountDeletionHooks,
  Effect.map(CardCustomers, ({ scheduleRemoval }) => [scheduleRemoval])
).pipe(Layer.provide(CardCustomers.Default))

/** Applies events of the card processor. */
export const cardEvents = CardEventEffects.Default.pipe(Layer.provide(PlanChanges.Default), Layer.provide(plans))

export const billingJobs = Layer.merge(cardEvents, cards)
