import { Effect, Option } from "effect"
import { EmailInvalid } from "../accounts/AccountErrors.ts"
import { IdempotentExecution } from "../limits/IdempotentExecution.ts"
import { Digests } from "../secrets/Digests.ts"
import { normalizeEmail, parseEmail } from "../shared/Email.ts"
import { DeveloperWallets, DeveloperWalletsNotConfigured } from "./DeveloperWallets.ts"

/** Formats a UUID of version 4 and variant 1 from the first 16 bytes of a hash. */
const formatUuid = (hash: string): string => {
  const variant = ((Number.parseInt(hash.charAt(16), 16) & 3) | 8).toString(16)
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `4${hash.slice(13, 16)}`,
    `${variant}${hash.slice(17, 20)}`,
    hash.slice(20, 32)
  ].join("-")
}

/**
 * Creates wallets at the developer platform. Every request creates a separate wallet, except repetitions under one
 * `Idempotency-Key`: an email address is no proof, so it identifies no earlier wallet.
 */
export class DeveloperWalletCreation extends Effect.Service<DeveloperWalletCreation>()(
  "@berth/DeveloperWalletCreation",
  {
    effect: Effect.gen(function* () {
      const digests = yield* Digests
      const execution = yield* IdempotentExecution
      const platform = yield* DeveloperWallets
      const hash = (text: string) => digests.sha256(text, "hex")

      const create = Effect.fn("DeveloperWalletCreation.create")(function* (text: string) {
        const email = yield* Effect.mapError(parseEmail(text), () => new EmailInvalid())
        const { create: createAt } = yield* Effect.mapError(platform, () => new DeveloperWalletsNotConfigured())
        const request = hash(`${yield* execution.reference}|${normalizeEmail(email)}`)
        // At most 36 letters, digits and hyphens. Operators find the wallets of an address by the prefix.
        const name = `berth-${hash(normalizeEmail(email)).slice(0, 8)}-${request.slice(0, 21)}`
        const address = yield* createAt({ name, idempotencyKey: formatUuid(hash(request)) })
        yield* Effect.logInfo("Developer wallet created").pipe(Effect.annotateLogs({ address }))
        return { address, walletId: name }
      })

      return { create, projectId: Option.map(platform, ({ projectId }) => projectId) }
    })
  }
) {}
