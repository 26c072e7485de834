import { Schema } from "effect"
import { AnsweringModel } from "../../ai/models/AnsweringModel.ts"
import { ProviderName } from "../../ai/models/Model.ts"
import { ProviderFailureKind } from "../../ai/models/ModelErrors.ts"

export const ChatOpeningFields = Schema.Struct({
  id: Schema.String,
  model: Schema.String,
  provider: ProviderName,
  ownKey: Schema.Boolean,
  attempts: Schema.Array(
    Schema.Struct({
      model: Schema.String,
      provider: ProviderName,
      outcome: Schema.Literal("answered", "skipped", ...ProviderFailureKind.literals),
      tries: Schema.Int
    })
  ),
  overheadMs: Schema.Number
})

/** The stored answer of a paid call, for repetitions of the request. */
export const PaidAnswer = Schema.Struct({
  opening: Schema.OptionFromNullOr(ChatOpeningFields),
  message: Schema.String,
  ownKey: Schema.Boolean,
  tokens: Schema.NullOr(Schema.Number),
  costUsd: Schema.NullOr(Schema.Number),
  answeredBy: Schema.optional(AnsweringModel),
  audioType: Schema.optional(Schema.String),
  answeredAt: Schema.DateTimeUtc
})
export type PaidAnswer = typeof PaidAnswer.Type
