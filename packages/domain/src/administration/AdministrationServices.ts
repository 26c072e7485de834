import { Layer } from "effect"
import { DeadLetters } from "../jobs/DeadLetters.ts"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { AccountSuspensions } from "./AccountSuspensions.ts"
import { Audit } from "./audit/Audit.ts"
import { InstanceAdministration } from "./InstanceAdministration.ts"
import { ProviderAdministration } from "./ProviderAdministration.ts"
import { QueueAdministration } from "./QueueAdministration.ts"
import { UserAdministration } from "./UserAdministration.ts"

export const layer = Layer.mergeAll(
  UserAdministration.Default,
  AccountSuspensions.Default,
  InstanceAdministration.Default
).pipe(Layer.provide(AgentLifecycle.Default), Layer.provideMerge(Audit.Default))

/** Requires the queue store, unlike the other services. */
export const queues = QueueAdministration.Default.pipe(Layer.provide(DeadLetters.Default), Layer.provide(Audit.Default))

/** Requires the AI layer or its client. */
export const providers = ProviderAdministration.Default
