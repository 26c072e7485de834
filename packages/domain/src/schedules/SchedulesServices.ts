import { Layer } from "effect"
import { AgentRuns } from "./runs/AgentRuns.ts"
import { SkillCalls } from "./runs/SkillCalls.ts"
import { SkillRuns } from "./runs/SkillRuns.ts"
import { Schedules } from "./Schedules.ts"
import { ScheduleTicks } from "./ScheduleTicks.ts"

/** Services for the public listener. */
export const layer = Layer.provide(Layer.merge(Schedules.Default, SkillRuns.Default), SkillCalls.Default)

/** Services for the worker. */
export const scheduleJobs = Layer.merge(AgentRuns.Default, ScheduleTicks.Default)
