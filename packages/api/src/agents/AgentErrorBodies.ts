import { SkillNotFound } from "@berth/domain/agents/AgentConfiguration"
import {
  AgentNotFound,
  AgentNameInvalid,
  ConfigurationNotApplied,
  PlanLimitReached,
  SubscriptionRequired
} from "@berth/domain/agents/AgentErrors"
import { CustomModelMissing, ModelNotAllowed } from "@berth/domain/agents/AgentModel"
import { PlanFeatureRequired, SkillSelectionInvalid } from "@berth/domain/agents/AgentConfigPolicy"
import { Data, Schema } from "effect"
import { plainErrorBody, fieldsErrorBody, reasonErrorBody } from "../http/ErrorBody.ts"
import { PlanId } from "@berth/domain/shared/PlanId"

export const AgentNotFoundBody = plainErrorBody(AgentNotFound, {
  status: 404,
  error: "Agent not found",
  message: "You have no agent with this id."
})
export const AgentNameInvalidBody = reasonErrorBody(AgentNameInvalid, {
  status: 400,
  error: "Invalid agent name",
  prefix: "name: ",
  example: "must have 1 to 200 characters."
})
export const ModelNotAllowedBody = fieldsErrorBody(ModelNotAllowed, {
  status: 400,
  error: "Model not allowed",
  message: ({ allowed }) => `model: must be one of ${allowed.join(", ")}.`,
  members: Schema.Struct({ model: Schema.String, allowed: Schema.Array(Schema.String) }),
  example: { model: "gpt-2", allowed: ["claude-opus-4-6", "gpt-4", "custom"] }
})
export const CustomModelMissingBody = plainErrorBody(CustomModelMissing, {
  status: 400,
  error: "Custom model missing",
  message: "config.customModel: the model custom needs a model id of the form provider/model here."
})
export const SkillSelectionInvalidBody = fieldsErrorBody(SkillSelectionInvalid, {
  status: 400,
  error: "Unknown skill",
  message: ({ known, skills }) => `skills: unknown skill ${skills.join(", ")}. Choose from ${known.join(", ")}.`,
  members: Schema.Struct({ skills: Schema.Array(Schema.String), known: Schema.Array(Schema.String) }),
  example: { skills: ["dance"], known: ["time", "calculator", "files"] }
})
export const PlanFeatureRequiredBody = fieldsErrorBody(PlanFeatureRequired, {
  status: 403,
  error: "Plan feature required",
  message: ({ feature, id, plans }) =>
    `Your plan does not have the ${feature} ${id}. These plans do: ${plans.join(", ")}.`,
  members: Schema.Struct({
    feature: Schema.Literal("skill", "channel"),
    id: Schema.String,
    plans: Schema.Array(PlanId)
  }),
  example: { feature: "skill", id: "files", plans: ["pro", "scale"] }
})
export const SubscriptionRequiredBody = plainErrorBody(SubscriptionRequired, {
  status: 402,
  error: "Subscription required",
  message: "Provisioning an agent needs an active subscription; choose a plan at /pricing."
})
export const PlanLimitReachedBody = fieldsErrorBody(PlanLimitReached, {
  status: 429,
  error: "Agent limit reached",
  message: ({ current, limit }) =>
    `Your plan allows ${limit} ${limit === 1 ? "agent" : "agents"} and you have ${current}. Delete one or choose a larger plan.`,
  members: Schema.Struct({ current: Schema.Number, limit: Schema.Number }),
  example: { current: 3, limit: 3 }
})

export class LogsUnavailable extends Data.TaggedError("LogsUnavailable")<{ readonly reason: string }> {}
export const LogsUnavailableBody = reasonErrorBody(LogsUnavailable, {
  status: 500,
  error: "Logs unavailable",
  prefix: "The logs are temporarily unavailable: ",
  example: "the instance does not respond"
})

export const ConfigurationNotAppliedBody = reasonErrorBody(ConfigurationNotApplied, {
  status: 500,
  error: "Configuration not applied",
  prefix: "The configuration is stored and is applied to the running agent later: ",
  example: "the instance does not respond"
})
export const SkillNotFoundBody = plainErrorBody(SkillNotFound, {
  status: 404,
  error: "Skill not found",
  message: "There is no skill with this id. GET /api/agent?action=skills lists the skills."
})
