import {
  AgentNotFound,
  AgentNameInvalid,
  ConfigurationNotApplied,
  PlanLimitReached,
  SubscriptionRequired
} from "@berth/domain/agents/AgentErrors"
import { CustomModelMissing, ModelNotAllowed } from "@berth/domain/agents/AgentModel"
import { PlanFeatureRequired, SkillSelectionInvalid } from "@berth/domain/agents/AgentConfigPolicy"
import { HttpApiSchema } from "@effect/platform"
import { Data, Schema } from "effect"
import { errorClassSchema, errorBody, errorFields } from "../http/ErrorBody.ts"
import { PlanId } from "@berth/domain/shared/PlanId"

export const AgentNotFoundBody = errorBody(AgentNotFound, {
  status: 404,
  error: "Agent not found",
  message: "You have no agent with this id.",
  read: () => new AgentNotFound()
})
export const AgentNameInvalidBody = errorBody(AgentNameInvalid, {
  status: 400,
  error: "Invalid agent name",
  message: ({ reason }) => `name: ${reason}`,
  read: (message) => new AgentNameInvalid({ reason: message.replace(/^name: /, "") })
})
export const ModelNotAllowedBody = Schema.transform(
  Schema.Struct({
    ...errorFields("model_not_allowed"),
    model: Schema.String,
    allowed: Schema.Array(Schema.String)
  }).annotations({ identifier: "ModelNotAllowed" }),
  errorClassSchema(ModelNotAllowed),
  {
    strict: true,
    decode: ({ allowed, model }) => new ModelNotAllowed({ model, allowed }),
    encode: ({ allowed, model }) => ({
      error: "Model not allowed",
      message: `model: must be one of ${allowed.join(", ")}.`,
      code: "model_not_allowed" as const,
      model,
      allowed
    })
  }
).annotations(HttpApiSchema.annotations({ status: 400, description: "Model not allowed" }))
export const CustomModelMissingBody = errorBody(CustomModelMissing, {
  status: 400,
  error: "Custom model missing",
  message: "config.customModel: the model custom needs a model id of the form provider/model here.",
  read: () => new CustomModelMissing()
})
export const SkillSelectionInvalidBody = Schema.transform(
  Schema.Struct({
    ...errorFields("skill_selection_invalid"),
    skills: Schema.Array(Schema.String),
    known: Schema.Array(Schema.String)
  }).annotations({ identifier: "SkillSelectionInvalid" }),
  errorClassSchema(SkillSelectionInvalid),
  {
    strict: true,
    decode: ({ known, skills }) => new SkillSelectionInvalid({ skills, known }),
    encode: ({ known, skills }) => ({
      error: "Unknown skill",
      message: `skills: unknown skill ${skills.join(", ")}. Choose from ${known.join(", ")}.`,
      code: "skill_selection_invalid" as const,
      skills,
      known
    })
  }
).annotations(HttpApiSchema.annotations({ status: 400, description: "Unknown skill" }))
export const PlanFeatureRequiredBody = Schema.transform(
  Schema.Struct({
    ...errorFields("plan_feature_required"),
    feature: Schema.Literal("skill", "channel"),
    id: Schema.String,
    plans: Schema.Array(PlanId)
  }).annotations({ identifier: "PlanFeatureRequired" }),
  errorClassSchema(PlanFeatureRequired),
  {
    strict: true,
    decode: ({ feature, id, plans }) => new PlanFeatureRequired({ feature, id, plans }),
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
export const SubscriptionRequiredBody = errorBody(SubscriptionRequired, {
  status: 402,
  error: "Subscription required",
  message: "Provisioning an agent needs an active subscription; choose a plan at /pricing.",
  read: () => new SubscriptionRequired()
})
export const PlanLimitReachedBody = Schema.transform(
  Schema.Struct({
    ...errorFields("plan_limit_reached"),
    current: Schema.Number,
    limit: Schema.Number
  }).annotations({ identifier: "PlanLimitReached" }),
  errorClassSchema(PlanLimitReached),
  {
    strict: true,
    decode: ({ current, limit }) => new PlanLimitReached({ current, limit }),
    encode: ({ current, limit }) => ({
      error: "Agent limit reached",
      message: `Your plan allows ${limit} agents and you have ${current}. Delete one or choose a larger plan.`,
      code: "plan_limit_reached" as const,
      current,
      limit
    })
  }
).annotations(HttpApiSchema.annotations({ status: 429, description: "Agent limit of the plan reached" }))

export class LogsUnavailable extends Data.TaggedError("LogsUnavailable")<{ readonly reason: string }> {}
export const LogsUnavailableBody = errorBody(LogsUnavailable, {
  status: 500,
  error: "Logs unavailable",
  message: ({ reason }) => `The logs are temporarily unavailable: ${reason}`,
  read: (message) => new LogsUnavailable({ reason: message })
})

export const ConfigurationNotAppliedBody = errorBody(ConfigurationNotApplied, {
  status: 500,
  error: "Configuration not applied",
  message: ({ reason }) => `The configuration is stored and is applied to the running agent later: ${reason}`,
  read: (message) => new ConfigurationNotApplied({ reason: message })
})
