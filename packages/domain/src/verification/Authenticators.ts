import { Effect, Option } from "effect"
import { AccountPolicy } from "../accounts/AccountPolicy.ts"
import type { Agent } from "../agents/Agent.ts"
import { RateLimiter } from "../limits/RateLimiter.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { takeProof } from "./ProofLimit.ts"
import { VerificationChallenges } from "./VerificationChallenges.ts"
import { VerificationRejected } from "./VerificationErrors.ts"
import { type AuthenticatorResponseInvalid, maximumAuthenticatorResponse, WebAuthn } from "./WebAuthn.ts"
import { makeRegistrationOptions, maximumCredentialsPerAgent, type WebAuthnCredential } from "./WebAuthnCredential.ts"
import { WebAuthnCredentialRepository } from "./WebAuthnCredentialRepository.ts"

type OwnedAgent = Pick<Agent, "id" | "ownerId" | "name">

/** Authenticators, each registered by an owner for one agent. */
export class Authenticators extends Effect.Service<Authenticators>()("@berth/Authenticators", {
  effect: Effect.gen(function* () {
    const challenges = yield* VerificationChallenges
    const credentials = yield* WebAuthnCredentialRepository
    const webAuthn = yield* WebAuthn
    const limiter = yield* RateLimiter
    const transaction = yield* Transaction
    const { appUrl } = yield* AccountPolicy

    const reject = ({ reason }: AuthenticatorResponseInvalid) =>
      Effect.zipRight(
        Effect.logInfo("Authenticator response rejected").pipe(Effect.annotateLogs({ reason })),
        new VerificationRejected({ fault: "credential_invalid" })
      )

    const requireBounded = (response: string) =>
      response.length > maximumAuthenticatorResponse
        ? new VerificationRejected({ fault: "credential_invalid" })
        : Effect.void

    /** Options for `navigator.credentials.create`, with a new challenge. */
    const startRegistration = Effect.fn("Authenticators.startRegistration")(function* (agent: OwnedAgent) {
      const ids = yield* credentials.listIds(agent.ownerId, agent.id)
      const { expiresAt, message } = yield* challenges.issue(agent.ownerId, agent.id, "webauthn-registration")
      return { options: makeRegistrationOptions(appUrl, agent, message, ids), expiresAt }
    })

    const register = Effect.fn("Authenticators.register")(function* (agent: OwnedAgent, response: string) {
      const { id, ownerId } = agent
      yield* takeProof(limiter, agent)
      yield* requireBounded(response)
      const challenge = yield* challenges.find(ownerId, id, "webauthn-registration")
      const credential = yield* Effect.catchTag(
        webAuthn.verifyRegistration(response, challenge.message),
        "AuthenticatorResponseInvalid",
        reject
      )
      yield* transaction.run(
        Effect.gen(function* () {
          // The open challenge is unique per agent, so registrations of an agent are serialized.
          yield* challenges.consume(challenge)
          if ((yield* credentials.listIds(ownerId, id)).length >= maximumCredentialsPerAgent)
            return yield* new VerificationRejected({ fault: "credential_limit_reached" })
          if (!(yield* credentials.insert(ownerId, id, credential)))
            return yield* new VerificationRejected({ fault: "credential_invalid" })
        })
      )
      return credential.id
    })

    /**
     * Returns the credential that signed the message, with the counter to set in the transaction of the proven action.
     */
    const readAssertion = Effect.fn("Authenticators.readAssertion")(function* (
      { id, ownerId }: OwnedAgent,
      response: string,
      message: string
    ) {
      yield* requireBounded(response)
      const named = webAuthn.readCredentialId(response)
      if (Option.isNone(named)) return yield* new VerificationRejected({ fault: "credential_invalid" })
      const credential = yield* Effect.mapError(
        yield* credentials.find(ownerId, id, named.value),
        () => new VerificationRejected({ fault: "credential_unknown" })
      )
      const counter = yield* Effect.catchTag(
        webAuthn.verifyAssertion(response, message, credential),
        "AuthenticatorResponseInvalid",
        reject
      )
      return { credential, counter }
    })

    /** Fails if another assertion has changed the counter. Joins the running transaction. */
    const setCounter = Effect.fn("Authenticators.setCounter")(function* (
      credential: WebAuthnCredential,
      counter: number
    ) {
      if (!(yield* credentials.setCounter(credential, counter)))
        return yield* new VerificationRejected({ fault: "counter_not_increased" })
    })

    return { startRegistration, register, readAssertion, setCounter, removeAll: credentials.removeAll }
  })
}) {}
