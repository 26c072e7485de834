import {
  AgentIsUnknown,
  AgentNameIsInvalid,
  PlanLimitIsReached,
  SubscriptionIsRequired
} from "@berth/domain/agents/AgentErrors"
import { CustomModelIsMissing, ModelIsNotAllowed } from "@berth/domain/agents/AgentModel"
import { PlanFeatureIsRequired, SkillsAreUnknown } from "@berth/domain/agents/ConfigurationRules"
import { PlanId } from "@berth/domain/billing/Plan"
import { HttpApiSchema } from "@effect/platform"
import { Data, Schema } from "effect"
import { classOf, errorBody, errorFields } from "../http/ErrorBody.ts"

export const AgentIsUnknownBody = errorBody(AgentIsUnknown, {
  status: 404,
  code: "agent_not_found",
  error: "Agent not found",
  message: "You have no agent with this id.",
  read: () => new AgentIsUnknown()
})
export const AgentNameIsInvalidBody = errorBody(AgentNameIsInvalid, {
  status: 400,
  code: "invalid_agent_name",
  error: "Invalid agent name",
  message: ({ reason }) => `name: ${reason}`,
  read: (message) => new AgentNameIsInvalid({ reason: message.replace(/^name: /, "") })
})
export const ModelIsNotAllowedBody = Schema.transform(
  Schema.Struct({
    ...errorFields("model_not_allowed"),
    model: Schema.String,
    allowed: Schema.Array(Schema.String)
  }).annotations({ identifier: "ModelNotAllowed" }),
  classOf(ModelIsNotAllowed),
  {
    strict: true,
    decode: ({ allowed, model }) => new ModelIsNotAllowed({ model, allowed }),
    encode: ({ allowed, model }) => ({
      error: "Model not allowed",
      message: `model: must be one of ${allowed.join(", ")}.`,
      code: "model_not_allowed" as const,
      model,
      allowed
    })
  }
).annotations(HttpApiSchema.annotations({ status: 400, description: "Model not allowed" }))
export const CustomModelIsMissingBody = errorBody(CustomModelIsMissing, {
  status: 400,
  code: "custom_model_missing",
  error: "Custom model missing",
  message: "config.customModel: the model custom needs the provider/model id of a model here.",
  read: () => new CustomModelIsMissing()
})
export const SkillsAreUnknownBody = Schema.transform(
  Schema.Struct({
    ...errorFields("unknown_skill"),
    skills: Schema.Array(Schema.String),
    known: Schema.Array(Schema.String)
  }).annotations({ identifier: "UnknownSkill" }),
  classOf(SkillsAreUnknown),
  {
    strict: true,
    decode: ({ known, skills }) => new SkillsAreUnknown({ skills, known }),
    encode: ({ known, skills }) => ({
      error: "Unknown skill",
      message: `skills: there is no ${skills.join(", no ")}; there are ${known.join(", ")}.`,
      code: "unknown_skill" as const,
      skills,
      known
    })
  }
).annotations(HttpApiSchema.annotations({ status: 400, description: "Unknown skill" }))
export const PlanFeatureIsRequiredBody = Schema.transform(
  Schema.Struct({
    ...errorFields("plan_feature_required"),
    feature: Schema.Literal("skill", "channel"),
    id: Schema.String,
    plans: Schema.Array(PlanId)
  }).annotations({ identifier: "PlanFeatureRequired" }),
  classOf(PlanFeatureIsRequired),
  {
    strict: true,
    decode: ({ feature, id, plans }) => new PlanFeatureIsRequired({ feature, id, plans }),
    encode: ({ feature, id, plans }) => ({
      error: "Plan feature required",
      message: `Your plan does not have the ${feature} ${id}. These plans do: ${plans.join(", ")}.`,
      code: "plan_feature_required" as const,
      feature,
      id,
      plans
    })
  }
).annotations(HttpApiSchema.annotations({ status: 403, description: "Not part of the plan" }))
export const SubscriptionIsRequiredBody = errorBody(SubscriptionIsRequired, {
  status: 402,
  code: "subscription_required",
  error: "Subscription required",
  message: "Provisioning an agent needs an active subscription; choose a plan at /pricing.",
  read: () => new SubscriptionIsRequired()
})
export const PlanLimitIsReachedBody = Schema.transform(
  Schema.Struct({
    ...errorFields("plan_limit_reached"),
    current: Schema.Number,
    limit: Schema.Number
  }).annotations({ identifier: "PlanLimitReached" }),
  classOf(PlanLimitIsReached),
  {
    strict: true,
    decode: ({ current, limit }) => new PlanLimitIsReached({ current, limit }),
    encode: ({ current, limit }) => ({
      error: "Agent limit reached",
      message: `Your plan allows ${limit} agents and you have ${current}. Delete one or choose a larger plan.`,
      code: "plan_limit_reached" as const,
      current,
      limit
    })
  }
).annotations(HttpApiSchema.annotations({ status: 429, description: "Agent limit of the plan reached" }))

/** The backend, which has the logs, does not answer. */
export class LogsAreUnavailable extends Data.TaggedError("LogsAreUnavailable")<{ readonly reason: string }> {}
export const LogsAreUnavailableBody = errorBody(LogsAreUnavailable, {
  status: 500,
  code: "logs_unavailable",
  error: "Logs unavailable",
  message: ({ reason }) => `The logs cannot be read at the moment: ${reason}`,
  read: (message) => new LogsAreUnavailable({ reason: message })
})

/** The configuration is stored, but the running agent could not be told. */
export class ConfigurationIsNotApplied extends Data.TaggedError("ConfigurationIsNotApplied")<{
  readonly reason: string
}> {}
export const ConfigurationIsNotAppliedBody = errorBody(ConfigurationIsNotApplied, {
  status: 500,
  code: "configuration_not_applied",
  error: "Configuration not applied",
  message: ({ reason }) =>
    `The configuration is stored, but the running agent has not heard of it yet; it will be told again: ${reason}`,
  read: (message) => new ConfigurationIsNotApplied({ reason: message })
})
