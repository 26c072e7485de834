import { AccessNotices } from "@berth/domain/accounts/access-notices/AccessNotices"
import { MailedTokens } from "@berth/domain/accounts/mailed-tokens/MailedTokens"
import { CommonPasswords } from "@berth/domain/accounts/password/CommonPasswords"
import { PasswordHasher } from "@berth/domain/accounts/password/PasswordHasher"
import { Referrals } from "@berth/domain/accounts/referrals/Referrals"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { PasswordCredentials } from "@berth/domain/accounts/password/PasswordCredentials"
import { ExternalAccounts } from "@berth/domain/accounts/registration/ExternalAccounts"
import { Users } from "@berth/domain/accounts/Users"
import { WalletAlreadyLinked } from "@berth/domain/signin/wallets/WalletErrors"
import { WalletRepository } from "@berth/domain/signin/wallets/WalletRepository"
import { Wallets } from "@berth/domain/signin/wallets/Wallets"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { LinkedIdentities } from "@berth/domain/signin/identities/LinkedIdentities"
import * as PostgresLinkedIdentityRepository from "@berth/infra/postgres/signin/PostgresLinkedIdentityRepository"
import * as PostgresDomainEvents from "@berth/infra/postgres/events/PostgresDomainEvents"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import * as PostgresWalletRepository from "@berth/infra/postgres/signin/PostgresWalletRepository"
import { assert, layer } from "@effect/vitest"
import { Effect, Either, Layer } from "effect"
import * as AccountsWiring from "@berth/infra/wiring/AccountsWiring"
import { makePrivateKey } from "@berth/infra/chain/BaseChainTest"
import * as MigratedDatabase from "../support/MigratedDatabase.ts"
import { insertUser } from "../support/Samples.ts"
import * as TestSecrets from "../support/TestSecrets.ts"
import { Credits } from "@berth/domain/shared/Money"

const ports = Layer.mergeAll(
  PostgresUserRepository.layer,
  PostgresTransaction.layer,
  PostgresDomainEvents.layer,
  AccountsWiring.layer({
    referralCredits: Credits(1),
    appUrl: new URL("https://example.com"),
    verifiedEmailsOnly: false
  })
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

/** A delay between read and write lets all others read first. */
const slowRepository = Layer.effect(
  WalletRepository,
  Effect.map(WalletRepository, (real) => ({
    ...real,
    find: (address: WalletAddress) => Effect.delay(real.find(address), "50 millis"),
    listByUser: (userId: Parameters<typeof real.listByUser>[0]) => Effect.delay(real.listByUser(userId), "50 millis")
  }))
).pipe(Layer.provide(PostgresWalletRepository.layer))

const Live = Wallets.Default.pipe(
  Layer.provide(Layer.mergeAll(LinkedIdentities.Default, Users.Default)),
  Layer.provide(Layer.merge(ExternalAccounts.Default, PasswordCredentials.Default)),
  Layer.provide(
    Layer.mergeAll(
      Layer.mock(Referrals, { _tag: "@berth/Referrals" }),
      Layer.mock(Outbox, {}),
      Layer.mock(MailedTokens, { _tag: "@berth/MailedTokens" }),
      Layer.mock(Sessions, { _tag: "@berth/Sessions" }),
      Layer.mock(AccessNotices, { _tag: "@berth/AccessNotices", announce: () => Effect.void }),
      Layer.mock(PasswordHasher, {}),
      Layer.mock(RateLimiter, {}),
      Layer.succeed(CommonPasswords, { includes: () => false })
    )
  ),
  Layer.provide(PostgresLinkedIdentityRepository.layer),
  Layer.provideMerge(slowRepository),
  Layer.provideMerge(ports)
)

const newAddress = Effect.sync(() => WalletAddress.make(makePrivateKey().address))

layer(Live, { excludeTestServices: true })("Concurrent wallet requests", (it) => {
  it.effect("Concurrent wallet requests create one account for a wallet address in any case", () =>
    Effect.gen(function* () {
      const wallets = yield* Wallets
      const address = yield* newAddress
      const users = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? address : WalletAddress.make(address.toLowerCase()))),
        (address) => wallets.findOrCreateOwner(address, Effect.void),
        { concurrency: "unbounded" }
      )
      const [first] = users
      assert.deepStrictEqual(new Set(users.map(({ id }) => id)), new Set([first?.id]))
    })
  )

  it.effect("Concurrent wallet requests link a wallet to exactly one account, or to the one it creates", () =>
    Effect.gen(function* () {
      const wallets = yield* Wallets
      const address = yield* newAddress
      const users = yield* Effect.replicateEffect(insertUser(), 4)
      const [owner, outcomes] = yield* Effect.all(
        [
          wallets.findOrCreateOwner(address, Effect.void),
          Effect.forEach(users, ({ id }) => Effect.either(wallets.link(id, address)), { concurrency: "unbounded" })
        ],
        { concurrency: "unbounded" }
      )
      const linked = outcomes.filter(Either.isRight)
      assert.isAtMost(linked.length, 1)
      for (const { right } of linked) assert.strictEqual(right.userId, owner.id)
      for (const outcome of outcomes) if (Either.isLeft(outcome)) assert.instanceOf(outcome.left, WalletAlreadyLinked)
      assert.strictEqual((yield* wallets.findOrCreateOwner(address, Effect.void)).id, owner.id)
    })
  )
})
