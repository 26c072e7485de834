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
import { errorBody, plainErrorBody, extendedErrorBody } from "../http/ErrorBody.ts"
import { PlanId } from "@berth/domain/shared/PlanId"

export const AgentNotFoundBody = plainErrorBody(AgentNotFound, {
  status: 404,
  error: "Agent not found",
  message: "You have no agent with this id."
})
export const AgentNameInvalidBody = errorBody(AgentNameInvalid, {
  status: 400,
  error: "Invalid agent name",
  message: ({ reason }) => `name: ${reason}`,
  example: new AgentNameInvalid({ reason: "must have 1 to 200 characters." }),
  read: (message) => new AgentNameInvalid({ reason: message.replace(/^name: /, "") })
})
export const ModelNotAllowedBody = extendedErrorBody(
  ModelNotAllowed,
  Schema.Struct({ model: Schema.String, allowed: Schema.Array(Schema.String) }),
  {
    status: 400,
    error: "Model not allowed",
    message: ({ allowed }) => `model: must be one of ${allowed.join(", ")}.`,
    members: ({ allowed, model }) => ({ model, allowed }),
    example: new ModelNotAllowed({ model: "gpt-2", allowed: ["claude-opus-4-6", "gpt-4", "custom"] }),
    read: (_, { allowed, model }) => new ModelNotAllowed({ model, allowed })
  }
)
export const CustomModelMissingBody = plainErrorBody(CustomModelMissing, {
  status: 400,
  error: "Custom model missing",
  message: "config.customModel: the model custom needs a model id of the form provider/model here."
})
export const SkillSelectionInvalidBody = extendedErrorBody(
  SkillSelectionInvalid,
  Schema.Struct({ skills: Schema.Array(Schema.String), known: Schema.Array(Schema.String) }),
  {
    status: 400,
    error: "Unknown skill",
    message: ({ known, skills }) => `skills: unknown skill ${skills.join(", ")}. Choose from ${known.join(", ")}.`,
    members: ({ known, skills }) => ({ skills, known }),
    example: new SkillSelectionInvalid({ skills: ["dance"], known: ["time", "calculator", "files"] }),
    read: (_, { known, skills }) => new SkillSelectionInvalid({ skills, known })
  }
)
export const PlanFeatureRequiredBody = extendedErrorBody(
  PlanFeatureRequired,
  Schema.Struct({ feature: Schema.Literal("skill", "channel"), id: Schema.String, plans: Schema.Array(PlanId) }),
  {
    status: 403,
    error: "Plan feature required",
    message: ({ feature, id, plans }) =>
      `Your plan does not have the ${feature} ${id}. These plans do: ${plans.join(", ")}.`,
    members: ({ feature, id, plans }) => ({ feature, id, plans }),
    example: new PlanFeatureRequired({ feature: "skill", id: "files", plans: ["pro", "scale"] }),
    read: (_, { feature, id, plans }) => new PlanFeatureRequired({ feature, id, plans })
  }
)
export const SubscriptionRequiredBody = plainErrorBody(SubscriptionRequired, {
  status: 402,
  error: "Subscription required",
  message: "Provisioning an agent needs an active subscription; choose a plan at /pricing."
})
export const PlanLimitReachedBody = extendedErrorBody(
  PlanLimitReached,
  Schema.Struct({ current: Schema.Number, limit: Schema.Number }),
  {
    status: 429,
    error: "Agent limit reached",
    message: ({ current, limit }) =>
      `Your plan allows ${limit} ${limit === 1 ? "agent" : "agents"} and you have ${current}. Delete one or choose a larger plan.`,
    members: ({ current, limit }) => ({ current, limit }),
    example: new PlanLimitReached({ current: 3, limit: 3 }),
    read: (_, { current, limit }) => new PlanLimitReached({ current, limit })
  }
)

export class LogsUnavailable extends Data.TaggedError("LogsUnavailable")<{ readonly reason: string }> {}
export const LogsUnavailableBody = errorBody(LogsUnavailable, {
  status: 500,
  error: "Logs unavailable",
  message: ({ reason }) => `The logs are temporarily unavailable: ${reason}`,
  example: new LogsUnavailable({ reason: "the instance does not respond" }),
  read: (message) => new LogsUnavailable({ reason: message })
})

export const ConfigurationNotAppliedBody = errorBody(ConfigurationNotApplied, {
  status: 500,
  error: "Configuration not applied",
  message: ({ reason }) => `The configuration is stored and is applied to the running agent later: ${reason}`,
  example: new ConfigurationNotApplied({ reason: "the instance does not respond" }),
  read: (message) => new ConfigurationNotApplied({ reason: message })
})
export const SkillNotFoundBody = plainErrorBody(SkillNotFound, {
  status: 404,
  error: "Skill not found",
  message: "There is no skill with this id. GET /api/agent?action=skills lists the skills."
})
