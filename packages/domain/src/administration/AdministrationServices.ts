import { Layer } from "effect"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { AccountSuspensions } from "./AccountSuspensions.ts"
import { Audit } from "./audit/Audit.ts"
import { InstanceAdministration } from "./InstanceAdministration.ts"
import { UserAdministration } from "./UserAdministration.ts"

export const layer = Layer.mergeAll(
  UserAdministration.Default,
  AccountSuspensions.Default,
  InstanceAdministration.Default
).pipe(Layer.provide(AgentLifecycle.Default), Layer.provideMerge(Audit.Default))
