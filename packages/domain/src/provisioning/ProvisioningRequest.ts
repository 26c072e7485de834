import { Array, Either, Option, type Redacted, Schema } from "effect"
import { parseCredentialValue, type ModelCredentialKey } from "../secrets/Credential.ts"
import type { MessagingPlatform } from "../shared/Channel.ts"
import { PlanId } from "../shared/PlanId.ts"
import { ChannelTokenMissing, type FieldIssue, ProvisioningFieldInvalid } from "./ProvisioningErrors.ts"

export const ProvisioningProvider = Schema.Literal("openrouter", "anthropic", "openai", "google", "groq").annotations({
  identifier: "ProvisioningProvider"
})
export type ProvisioningProvider = typeof ProvisioningProvider.Type

/**
 * The plan that the caller intends. Until the claim the limits of free apply, afterwards those of the claimer's plan.
 */
export const ProvisioningPlan = PlanId.pipe(Schema.pickLiteral("free", "pro", "enterprise")).annotations({
  identifier: "ProvisioningPlan"
})
export type ProvisioningPlan = typeof ProvisioningPlan.Type

export interface ProvisioningRequest {
  readonly platformAToken?: Redacted.Redacted | undefined
  /** User of platform A who may claim the agent. */
  readonly platformAUserId?: string | undefined
  readonly platformBToken?: Redacted.Redacted | undefined
  readonly platformCBotToken?: Redacted.Redacted | undefined
  readonly aiProvider?: ProvisioningProvider | "gemini" | undefined
  readonly apiKey?: Redacted.Redacted | undefined
  readonly plan?: ProvisioningPlan | undefined
}

export interface ProvisioningOrder {
  readonly tokens: ReadonlyArray<{ readonly platform: MessagingPlatform; readonly token: Redacted.Redacted }>
  /** Receives the claim code; none if the caller receives it. */
  readonly claimant: Option.Option<string>
  readonly provider: ProvisioningProvider
  readonly apiKey: Option.Option<{ readonly key: ModelCredentialKey; readonly value: Redacted.Redacted }>
  readonly plan: ProvisioningPlan
}

const tokenFields = {
  platformA: "platformAToken",
  platformB: "platformBToken",
  platformC: "platformCBotToken"
} as const satisfies Record<MessagingPlatform, keyof ProvisioningRequest>
const platforms = ["platformA", "platformB", "platformC"] as const satisfies ReadonlyArray<MessagingPlatform>

const userIdPattern = /^[\x21-\x7e]{1,64}$/

const parseSecret = (
  path: string,
  value: Redacted.Redacted | undefined
): Either.Either<Option.Option<Redacted.Redacted>, FieldIssue> =>
  value === undefined
    ? Either.right(Option.none())
    : Either.mapBoth(parseCredentialValue(value), {
        onLeft: ({ reason }) => ({ path, message: reason }),
        onRight: Option.some
      })

const parseClaimant = (userId: string | undefined): Either.Either<Option.Option<string>, FieldIssue> => {
  if (userId === undefined) return Either.right(Option.none())
  return userIdPattern.test(userId.trim())
    ? Either.right(Option.some(userId.trim()))
    : Either.left({
        path: "platformAUserId",
        message: "must have 1 to 64 printable ASCII characters without blanks"
      })
}

/** Validates the syntax of a request, without calls to platforms and providers. */
export const parseProvisioningRequest = (
  request: ProvisioningRequest
): Either.Either<ProvisioningOrder, ChannelTokenMissing | ProvisioningFieldInvalid> =>
  Either.gen(function* () {
    const connected = platforms.filter((platform) => request[tokenFields[platform]] !== undefined)
    if (connected.length === 0) return yield* Either.left(new ChannelTokenMissing())
    const parsedTokens = connected.map((platform) =>
      Either.map(parseSecret(tokenFields[platform], request[tokenFields[platform]]), (token) =>
        Option.toArray(token).map((value) => ({ platform, token: value }))
      )
    )
    const parsedClaimant = parseClaimant(request.platformAUserId)
    const parsedKey = parseSecret("apiKey", request.apiKey)
    const issues = Array.getLefts([...parsedTokens, parsedClaimant, parsedKey])
    const [tokens, claimant, apiKey] = yield* Either.mapLeft(
      Either.all([Either.all(parsedTokens), parsedClaimant, parsedKey]),
      () => new ProvisioningFieldInvalid({ issues })
    )
    const provider = request.aiProvider === "gemini" ? "google" : (request.aiProvider ?? "openrouter")
    return {
      tokens: tokens.flat(),
      // Only the bot of platform A can message that user.
      claimant: connected.includes("platformA") ? claimant : Option.none(),
      provider,
      apiKey: Option.map(apiKey, (value) => ({ key: provider, value })),
      plan: request.plan ?? "free"
    }
  })
