import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { WalletRepository } from "@berth/domain/signin/wallets/WalletRepository"
import * as AccountsServices from "@berth/domain/accounts/AccountsServices"
import { ChainUnreachable } from "@berth/domain/chain/Chain"
import { MailOutbox } from "@berth/domain/mail/MailOutbox"
import { AttestationRegistry } from "@berth/domain/verification/AttestationRegistry"
import { VerificationId } from "@berth/domain/verification/Verification"
import { VerificationChecks } from "@berth/domain/verification/VerificationChecks"
import { VerificationRepository } from "@berth/domain/verification/VerificationRepository"
import * as VerificationServices from "@berth/domain/verification/VerificationServices"
import * as AccountsWiring from "@berth/infra/wiring/AccountsWiring"
import { Credits } from "@berth/domain/shared/Money"
import { makePrivateKey } from "@berth/infra/chain/BaseChainTest"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { createServer } from "node:http"
import type { Hex } from "viem"
import {
  type AttestationChain,
  type AttestationChanges,
  startAttestationChain
} from "../support/chain/AttestationChain.ts"
import { type NameChain, startNameChain } from "../support/chain/NameChain.ts"
import { readMailsTo } from "../support/Mailbox.ts"
import { listenLocally } from "../support/LocalServer.ts"
import * as App from "../support/TestApp.ts"
import { makeSoftwareAuthenticator, type ResponseChanges } from "../support/webauthn/SoftwareAuthenticator.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"

class Chains extends Context.Tag("@berth/test/VerificationChains")<
  Chains,
  { readonly base: AttestationChain; readonly ethereum: NameChain }
>() {}

const app = Layer.unwrapScoped(
  Effect.gen(function* () {
    const [base, ethereum] = yield* Effect.all([startAttestationChain, startNameChain], { concurrency: 2 })
    return Layer.merge(
      Layer.succeed(Chains, { base, ethereum }),
      App.layer({ baseRpcUrl: base.url, ethereumRpcUrl: ethereum.url, verification: base.verification })
    )
  })
)

type Type = "eas" | "coinbase" | "ens" | "webauthn"

const pathOf = ({ agent }: OwnerWithAgent, rest: string) => `/api/agents/${agent.id}/${rest}`

const openChallenge = (owner: OwnerWithAgent, type: Type) =>
  Effect.gen(function* () {
    const answer = yield* App.web({ method: "GET", path: pathOf(owner, `verify?type=${type}`), as: owner })
    assert.strictEqual(answer.status, 200, answer.text)
    return String(answer.body["message"])
  })

const verify = (owner: OwnerWithAgent, verificationType: Type, fields: Readonly<Record<string, unknown>>) =>
  App.web({ method: "POST", path: pathOf(owner, "verify"), as: owner, json: { verificationType, ...fields } })

const recordOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const { body } = yield* App.web({ method: "GET", path: pathOf(owner, "verification"), as: owner })
    return body
  })

const unverified = {
  verified: false,
  verificationType: null,
  attestationUid: null,
  verifierAddress: null,
  verifiedAt: null
}

const assertRejected = (
  owner: OwnerWithAgent,
  answer: { readonly status: number; readonly text: string; readonly body: Readonly<Record<string, unknown>> },
  fault: string
) =>
  Effect.gen(function* () {
    assert.deepStrictEqual(
      [answer.status, answer.body["code"], answer.body["fault"]],
      [400, "verification_rejected", fault],
      answer.text
    )
    assert.deepStrictEqual(yield* recordOf(owner), unverified)
  })

const linkWallet = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const key = makePrivateKey()
    const wallets = yield* WalletRepository
    const linkedAt = yield* DateTime.now
    yield* wallets.insert({ address: WalletAddress.make(key.address), userId: owner.user.id, linkedAt })
    return key
  })

const ownerWithWallet = Effect.gen(function* () {
  const owner = yield* createOwnerWithAgent()
  return { ...owner, wallet: yield* linkWallet(owner) }
})
type OwnerWithWallet = Effect.Effect.Success<typeof ownerWithWallet>

const signWith = (key: { readonly signMessage: (input: { message: string }) => Promise<Hex> }, message: string) =>
  Effect.promise(() => key.signMessage({ message }))

const registerAuthenticator = (owner: OwnerWithAgent, changes: ResponseChanges = {}) =>
  Effect.gen(function* () {
    const { appUrl } = yield* App.TestApp
    const call = { method: "POST", path: pathOf(owner, "verify/webauthn"), as: owner }
    const { body } = yield* App.web(call)
    const authenticator = makeSoftwareAuthenticator(appUrl)
    const options = body["options"]
    const challenge =
      typeof options === "object" && options !== null && "challenge" in options ? String(options.challenge) : ""
    const credential = authenticator.register(challenge, changes)
    const answer = yield* App.web({ ...call, json: { credential } })
    return { answer, authenticator, credential, options }
  })

layer(app, { excludeTestServices: true, timeout: "60 seconds" })("Verification of agents", (it) => {
  it.effect("A challenge names the host, the agent, the user and the type, and a new one replaces it", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const owner = yield* createOwnerWithAgent()
      const call = { method: "GET", path: pathOf(owner, "verify?type=ens"), as: owner }
      const [first, second] = [yield* App.web(call), yield* App.web(call)]
      assert.sameMembers(Object.keys(first.body), ["message", "nonce", "expiresAt"])
      const message = String(first.body["message"])
      for (const part of [appUrl.host, owner.agent.id, owner.user.id, "Type: ens", String(first.body["nonce"])])
        assert.include(message, part)
      assert.notStrictEqual(first.body["nonce"], second.body["nonce"])
      const lifetime = Date.parse(String(first.body["expiresAt"])) - DateTime.toEpochMillis(yield* DateTime.now)
      assert.isTrue(lifetime > 590_000 && lifetime <= 600_000, String(lifetime))
    })
  )

  it.effect("An attestation of a linked wallet verifies the agent, and DELETE removes the verification", () =>
    Effect.gen(function* () {
      const { base } = yield* Chains
      const owner = yield* ownerWithWallet
      const uid = yield* base.attest(owner.wallet.address)
      const answer = yield* verify(owner, "eas", { attestationUid: uid.toUpperCase().replace("0X", "0x") })
      assert.strictEqual(answer.status, 200, answer.text)
      const { success, ...verified } = answer.body
      assert.isTrue(success)
      assert.deepInclude(verified, { verified: true, verificationType: "eas", attestationUid: uid })
      const detail = yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}`, as: owner })
      assert.deepInclude(detail.body["agent"], verified)
      assert.deepStrictEqual(yield* recordOf(owner), { ...verified, verifierAddress: base.attester })
      for (const _ of ["first", "again"]) {
        const removed = yield* App.web({ method: "DELETE", path: pathOf(owner, "verify"), as: owner })
        assert.deepStrictEqual([removed.status, removed.body], [200, { success: true }])
        assert.deepStrictEqual(yield* recordOf(owner), unverified)
      }
    })
  )

  const attestations: ReadonlyArray<
    readonly [
      string,
      string,
      (owner: OwnerWithWallet, chain: AttestationChain) => Effect.Effect<Hex, never, App.TestApp>
    ]
  > = [
    ["is of a stranger's wallet", "recipient_not_linked", (_, chain) => chain.attest(makePrivateKey().address)],
    [
      "is by another attester",
      "attester_untrusted",
      ({ wallet }, chain) => chain.attest(wallet.address, { attester: chain.stranger })
    ],
    [
      "has another schema",
      "schema_untrusted",
      ({ wallet }, chain) => chain.attest(wallet.address, { schema: chain.otherSchema })
    ],
    [
      "is expired",
      "attestation_expired",
      ({ wallet }, chain) => chain.attest(wallet.address, { expiresAt: chain.pastTime })
    ],
    [
      "is revoked",
      "attestation_revoked",
      ({ wallet }, chain) => Effect.tap(chain.attest(wallet.address), chain.revoke)
    ],
    ["does not exist", "attestation_missing", () => Effect.succeed<Hex>(`0x${"12".repeat(32)}`)],
    ["is zero", "attestation_missing", () => Effect.succeed<Hex>(`0x${"00".repeat(32)}`)]
  ]
  for (const [what, fault, make] of attestations)
    it.effect(`An attestation that ${what} does not verify the agent`, () =>
      Effect.gen(function* () {
        const owner = yield* ownerWithWallet
        const uid = yield* make(owner, (yield* Chains).base)
        yield* assertRejected(owner, yield* verify(owner, "eas", { attestationUid: uid }), fault)
      })
    )

  it.effect("A linked wallet's signature verifies the agent by the indexed Coinbase attestation, once", () =>
    Effect.gen(function* () {
      const { base } = yield* Chains
      const owner = yield* ownerWithWallet
      yield* linkWallet(owner)
      const uid = yield* base.attest(owner.wallet.address)
      yield* base.index(owner.wallet.address, uid)
      const signature = yield* signWith(owner.wallet, yield* openChallenge(owner, "coinbase"))
      const answers = yield* Effect.all(
        Array.from({ length: 4 }, () => verify(owner, "coinbase", { signature })),
        {
          concurrency: "unbounded"
        }
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 400, 400, 400]
      )
      for (const { body, status } of answers) if (status === 400) assert.strictEqual(body["fault"], "challenge_missing")
      assert.deepInclude(yield* recordOf(owner), {
        verified: true,
        verificationType: "coinbase",
        attestationUid: uid,
        verifierAddress: base.attester
      })
    })
  )

  const signatures: ReadonlyArray<
    readonly [string, string, (owner: OwnerWithWallet) => Effect.Effect<string, never, App.TestApp | SqlClient>]
  > = [
    [
      "is of a wallet of another user",
      "signature_invalid",
      (owner) => Effect.flatMap(openChallenge(owner, "coinbase"), (message) => signWith(makePrivateKey(), message))
    ],
    [
      "is of another text",
      "signature_invalid",
      (owner) => Effect.zipRight(openChallenge(owner, "coinbase"), signWith(owner.wallet, "I am the owner"))
    ],
    [
      "is of a challenge for another type",
      "signature_invalid",
      (owner) =>
        Effect.gen(function* () {
          yield* openChallenge(owner, "coinbase")
          return yield* signWith(owner.wallet, yield* openChallenge(owner, "ens"))
        })
    ],
    [
      "is of a replaced challenge",
      "signature_invalid",
      (owner) =>
        Effect.gen(function* () {
          const message = yield* openChallenge(owner, "coinbase")
          yield* openChallenge(owner, "coinbase")
          return yield* signWith(owner.wallet, message)
        })
    ],
    ["is of no challenge", "challenge_missing", (owner) => signWith(owner.wallet, "I am the owner")],
    [
      "is of an expired challenge",
      "challenge_missing",
      (owner) =>
        Effect.gen(function* () {
          const message = yield* openChallenge(owner, "coinbase")
          const sql = yield* SqlClient
          yield* Effect.orDie(
            sql`update verification_challenges set expires_at = now() where agent_id = ${owner.agent.id}`
          )
          return yield* signWith(owner.wallet, message)
        })
    ],
    [
      "proves a wallet without an attestation",
      "attestation_missing",
      (owner) => Effect.flatMap(openChallenge(owner, "coinbase"), (message) => signWith(owner.wallet, message))
    ]
  ]
  for (const [what, fault, make] of signatures)
    it.effect(`A signature that ${what} does not verify the agent`, () =>
      Effect.gen(function* () {
        const owner = yield* ownerWithWallet
        yield* assertRejected(owner, yield* verify(owner, "coinbase", { signature: yield* make(owner) }), fault)
      })
    )

  it.effect("A challenge of one agent does not verify another agent of the same owner", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* ownerWithWallet, yield* createOwnerWithAgent()]
      const signature = yield* signWith(owner.wallet, yield* openChallenge(other, "coinbase"))
      yield* openChallenge(owner, "coinbase")
      yield* assertRejected(owner, yield* verify(owner, "coinbase", { signature }), "signature_invalid")
    })
  )

  it.effect("An index entry of an attestation that is revoked or of another wallet does not verify the agent", () =>
    Effect.gen(function* () {
      const { base } = yield* Chains
      const owner = yield* ownerWithWallet
      const revoked = yield* Effect.tap(base.attest(owner.wallet.address), base.revoke)
      const foreign = yield* base.attest(makePrivateKey().address)
      for (const [uid, fault] of [
        [revoked, "attestation_revoked"],
        [foreign, "recipient_not_linked"]
      ] as const) {
        yield* base.index(owner.wallet.address, uid)
        const signature = yield* signWith(owner.wallet, yield* openChallenge(owner, "coinbase"))
        yield* assertRejected(owner, yield* verify(owner, "coinbase", { signature }), fault)
      }
    })
  )

  const claimName = (owner: OwnerWithAgent, key = makePrivateKey()) =>
    Effect.gen(function* () {
      const signature = yield* signWith(key, yield* openChallenge(owner, "ens"))
      return yield* verify(owner, "ens", { walletAddress: key.address.toLowerCase(), signature })
    })

  it.effect("A primary ENS name that belongs to the signing wallet verifies the agent, once", () =>
    Effect.gen(function* () {
      const { ethereum } = yield* Chains
      const [owner, key] = [yield* createOwnerWithAgent(), makePrivateKey()]
      const evidence = { method: "GET", path: pathOf(owner, "verification/evidence"), as: owner }
      assert.deepStrictEqual((yield* App.web(evidence)).body, { walletAddress: null, ensName: null })
      yield* ethereum.setPrimaryName(key.address, "ada.eth")
      yield* ethereum.setAddress("ada.eth", key.address)
      const message = yield* openChallenge(owner, "ens")
      const claim = { walletAddress: key.address, signature: yield* signWith(key, message) }
      const answer = yield* verify(owner, "ens", claim)
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepInclude(yield* recordOf(owner), {
        verified: true,
        verificationType: "ens",
        attestationUid: null,
        verifierAddress: key.address
      })
      assert.deepStrictEqual((yield* App.web(evidence)).body, { walletAddress: key.address, ensName: "ada.eth" })
      const replayed = yield* verify(owner, "ens", claim)
      assert.deepStrictEqual([replayed.status, replayed.body["fault"]], [400, "challenge_missing"])
    })
  )

  const names: ReadonlyArray<readonly [string, string, (wallet: string, chain: NameChain) => Effect.Effect<unknown>]> =
    [
      ["has no primary name", "name_missing", () => Effect.void],
      [
        "claims the name of another address",
        "name_mismatch",
        (wallet, chain) =>
          Effect.zipRight(
            chain.setPrimaryName(wallet, "vitalik.eth"),
            chain.setAddress("vitalik.eth", makePrivateKey().address)
          )
      ],
      [
        "claims a name without an address",
        "name_mismatch",
        (wallet, chain) => Effect.zipRight(chain.setPrimaryName(wallet, "nobody.eth"), chain.setAddress("nobody.eth"))
      ],
      ["claims a name of nobody", "name_missing", (wallet, chain) => chain.setPrimaryName(wallet, "unknown.eth")],
      [
        "claims a name that is not in normal form",
        "name_missing",
        (wallet, chain) => Effect.zipRight(chain.setPrimaryName(wallet, "Ada.eth"), chain.setAddress("ada.eth", wallet))
      ],
      [
        "claims a name with an invisible character",
        "name_missing",
        (wallet, chain) =>
          Effect.zipRight(chain.setPrimaryName(wallet, "a\u200Dda.eth"), chain.setAddress("a\u200Dda.eth", wallet))
      ],
      [
        "claims a name that no name server allows",
        "name_missing",
        (wallet, chain) => chain.setPrimaryName(wallet, `${"a".repeat(300)}.eth`)
      ]
    ]
  for (const [what, fault, prepare] of names)
    it.effect(`A wallet that ${what} does not verify the agent`, () =>
      Effect.gen(function* () {
        const [owner, key] = [yield* createOwnerWithAgent(), makePrivateKey()]
        yield* prepare(key.address, (yield* Chains).ethereum)
        yield* assertRejected(owner, yield* claimName(owner, key), fault)
      })
    )

  it.effect("A name does not verify the agent when another wallet signed the challenge", () =>
    Effect.gen(function* () {
      const { ethereum } = yield* Chains
      const [owner, key] = [yield* createOwnerWithAgent(), makePrivateKey()]
      yield* ethereum.setPrimaryName(key.address, "grace.eth")
      yield* ethereum.setAddress("grace.eth", key.address)
      const signature = yield* signWith(makePrivateKey(), yield* openChallenge(owner, "ens"))
      const answer = yield* verify(owner, "ens", { walletAddress: key.address, signature })
      yield* assertRejected(owner, answer, "signature_invalid")
    })
  )

  it.scoped("A name of an off-chain resolver verifies the agent, and its unreachable gateway is an outage", () =>
    Effect.gen(function* () {
      const { ethereum } = yield* Chains
      const [owner, key] = [yield* createOwnerWithAgent(), makePrivateKey()]
      const data = `0x${key.address.slice(2).padStart(64, "0")}`
      const gateway = createServer((request, response) => {
        const isFound = request.url?.startsWith("/down/") === false
        response.writeHead(isFound ? 200 : 500, { "content-type": "application/json" })
        response.end(JSON.stringify(isFound ? { data } : {}))
      })
      const { origin } = yield* listenLocally(gateway)
      yield* ethereum.setPrimaryName(key.address, "offchain.eth")
      for (const [url, status] of [
        [`${origin}/down/{sender}/{data}.json`, 500],
        ["http://127.0.0.1:1/{sender}/{data}", 500],
        ["http://10.0.0.1/{sender}/{data}", 500],
        ["file:///etc/passwd#{data}", 500],
        [`${origin}/{sender}/{data}.json`, 200]
      ] as const) {
        yield* ethereum.setGateway("offchain.eth", url)
        const answer = yield* claimName(owner, key)
        assert.strictEqual(answer.status, status, `${url}: ${answer.text}`)
        if (status === 500) assert.strictEqual(answer.body["code"], "verification_unavailable")
      }
    })
  )

  it.effect("A registered authenticator verifies the agent by an assertion over the challenge, once", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const owner = yield* createOwnerWithAgent()
      const { answer, authenticator, options } = yield* registerAuthenticator(owner)
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true, credentialId: authenticator.id }])
      assert.deepInclude(options, {
        rp: { id: appUrl.hostname, name: appUrl.host },
        attestation: "none",
        excludeCredentials: []
      })
      const signature = authenticator.sign(yield* openChallenge(owner, "webauthn"))
      const answers = yield* Effect.all(
        Array.from({ length: 4 }, () => verify(owner, "webauthn", { signature })),
        {
          concurrency: "unbounded"
        }
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 400, 400, 400]
      )
      assert.deepInclude(yield* recordOf(owner), {
        verified: true,
        verificationType: "webauthn",
        attestationUid: null,
        verifierAddress: null
      })
    })
  )

  it.effect("A replayed assertion and a counter that did not increase are rejected", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { authenticator } = yield* registerAuthenticator(owner)
      const used = authenticator.sign(yield* openChallenge(owner, "webauthn"), { counter: 7 })
      assert.strictEqual((yield* verify(owner, "webauthn", { signature: used })).status, 200)
      const sql = yield* SqlClient
      yield* Effect.orDie(sql`delete from agent_verifications where agent_id = ${owner.agent.id}`)
      yield* assertRejected(owner, yield* verify(owner, "webauthn", { signature: used }), "challenge_missing")
      const message = yield* openChallenge(owner, "webauthn")
      yield* assertRejected(owner, yield* verify(owner, "webauthn", { signature: used }), "credential_invalid")
      // A search of the padding from each character would take hours.
      const padding = `${"=".repeat(1_000_000)}A`
      yield* assertRejected(owner, yield* verify(owner, "webauthn", { signature: padding }), "credential_invalid")
      for (const counter of [0, 6, 7]) {
        const signature = authenticator.sign(message, { counter })
        yield* assertRejected(owner, yield* verify(owner, "webauthn", { signature }), "credential_invalid")
      }
      const next = authenticator.sign(message, { counter: 8 })
      assert.strictEqual((yield* verify(owner, "webauthn", { signature: next })).status, 200)
      yield* App.web({ method: "DELETE", path: pathOf(owner, "verify"), as: owner })
      const removed = authenticator.sign(yield* openChallenge(owner, "webauthn"), { counter: 9 })
      yield* assertRejected(owner, yield* verify(owner, "webauthn", { signature: removed }), "credential_unknown")
    })
  )

  const deviations: ReadonlyArray<readonly [string, ResponseChanges]> = [
    ["is for another origin", { origin: "https://elsewhere.example" }],
    ["is for another port", { origin: "http://localhost:1" }],
    ["is for another RP id", { rpId: "elsewhere.example" }],
    ["comes from an embedded page", { crossOrigin: true }],
    ["lacks user verification", { userVerified: false }],
    ["has another type", { type: "payment.get" }]
  ]
  for (const [what, changes] of deviations)
    it.effect(`A response of an authenticator that ${what} neither registers nor verifies`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const refused = yield* registerAuthenticator(owner, changes)
        yield* assertRejected(owner, refused.answer, "credential_invalid")
        const { authenticator } = yield* registerAuthenticator(owner)
        const signature = authenticator.sign(yield* openChallenge(owner, "webauthn"), changes)
        yield* assertRejected(owner, yield* verify(owner, "webauthn", { signature }), "credential_invalid")
      })
    )

  it.effect("An attestation with certificates, a used challenge and a known credential do not register", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      for (const changes of [{ format: "apple" }, { format: "packed", hasCertificates: true }])
        yield* assertRejected(owner, (yield* registerAuthenticator(owner, changes)).answer, "credential_invalid")
      const { authenticator, credential } = yield* registerAuthenticator(owner)
      const call = { method: "POST", path: pathOf(owner, "verify/webauthn"), as: owner }
      yield* assertRejected(owner, yield* App.web({ ...call, json: { credential } }), "challenge_missing")
      const start = { method: "POST", path: pathOf(other, "verify/webauthn"), as: other }
      const { text } = yield* App.web(start)
      const challenge = /"challenge":"([^"]+)"/.exec(text)?.[1] ?? ""
      const again = yield* App.web({ ...start, json: { credential: authenticator.register(challenge) } })
      yield* assertRejected(other, again, "credential_invalid")
    })
  )

  it.effect("An authenticator of another agent, another key and unreadable responses do not verify", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const { authenticator } = yield* registerAuthenticator(owner)
      const stranger = (yield* registerAuthenticator(other)).authenticator
      const message = yield* openChallenge(owner, "webauthn")
      for (const [signature, fault] of [
        [stranger.sign(message), "credential_unknown"],
        [authenticator.sign(message, { otherKey: true }), "credential_invalid"],
        ["%%%", "credential_invalid"],
        [Buffer.from("{}").toString("base64url"), "credential_invalid"],
        [Buffer.from("[".repeat(30_000)).toString("base64url"), "credential_invalid"]
      ] as const)
        yield* assertRejected(owner, yield* verify(owner, "webauthn", { signature }), fault)
    })
  )

  /** The worker's service over the given ports, by default those of the test application. */
  const checks = Layer.provide(
    VerificationServices.verificationJobs,
    Layer.provideMerge(
      Layer.mergeAll(AccountsServices.users, MailOutbox.Default),
      Layer.unwrapEffect(
        Effect.map(App.TestApp, ({ appUrl }) =>
          AccountsWiring.layer({ referralCredits: Credits(0), appUrl, verifiedEmailsOnly: false })
        )
      )
    )
  )

  const verifyByAttestation = (owner: OwnerWithWallet, changes: AttestationChanges = {}) =>
    Effect.gen(function* () {
      const uid = yield* (yield* Chains).base.attest(owner.wallet.address, changes)
      assert.strictEqual((yield* verify(owner, "eas", { attestationUid: uid })).status, 200)
      const found = yield* (yield* VerificationRepository).find(owner.user.id, owner.agent.id)
      return { uid, id: Option.getOrThrow(found).id }
    })

  const lossesOf = ({ agent }: OwnerWithAgent) =>
    Effect.flatMap(
      SqlClient,
      (sql) => sql`
        select data->>'verificationType' as type, data->>'reason' as reason from events
        where kind = 'agent.verification_lost' and data->>'agentId' = ${agent.id}`
    ).pipe(Effect.orDie)

  it.effect("A revoked attestation takes the verification, with one mail and one event", () =>
    Effect.gen(function* () {
      const { base } = yield* Chains
      const sql = yield* SqlClient
      const owner = yield* ownerWithWallet
      yield* Effect.orDie(sql`update users set email_verified_at = now() where id = ${owner.user.id}`)
      const { id, uid } = yield* verifyByAttestation(owner)
      const { check } = yield* VerificationChecks
      yield* check(id)
      assert.isTrue((yield* recordOf(owner))["verified"])
      yield* base.revoke(uid)
      yield* Effect.replicateEffect(check(id), 4, { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* recordOf(owner), unverified)
      assert.deepStrictEqual(yield* lossesOf(owner), [{ type: "eas", reason: "attestation_revoked" }])
      const mails = yield* readMailsTo(owner.user.email)
      assert.deepStrictEqual(
        mails.map(({ subject }) => subject),
        ["An agent is no longer verified"]
      )
      assert.include(mails[0]?.text, `/dashboard/agents/${owner.agent.id}/verification`)
    }).pipe(Effect.provide(checks))
  )

  it.effect("An attestation in the latest block verifies the agent, and checks count safe blocks only", () =>
    Effect.gen(function* () {
      const { base } = yield* Chains
      const { check } = yield* VerificationChecks
      const owner = yield* ownerWithWallet
      const { id } = yield* verifyByAttestation(owner, { isSafe: false })
      yield* check(id)
      assert.deepStrictEqual(yield* lossesOf(owner), [{ type: "eas", reason: "attestation_missing" }])
      yield* base.makeSafe
      const again = yield* verifyByAttestation(owner)
      yield* check(again.id)
      assert.isTrue((yield* recordOf(owner))["verified"])
    }).pipe(Effect.provide(checks))
  )

  it.effect("A moved or renamed ENS name and an unlinked wallet take the verification", () =>
    Effect.gen(function* () {
      const { base, ethereum } = yield* Chains
      const { check } = yield* VerificationChecks
      const repository = yield* VerificationRepository
      const moves: ReadonlyArray<readonly [string, (wallet: string) => Effect.Effect<unknown>, string]> = [
        ["moved.eth", () => ethereum.setAddress("moved.eth", makePrivateKey().address), "name_mismatch"],
        ["gone.eth", (wallet) => ethereum.setPrimaryName(wallet, ""), "name_missing"],
        [
          "old.eth",
          (wallet) =>
            Effect.zipRight(ethereum.setPrimaryName(wallet, "new.eth"), ethereum.setAddress("new.eth", wallet)),
          "name_mismatch"
        ]
      ]
      for (const [name, move, reason] of moves) {
        const [owner, key] = [yield* createOwnerWithAgent(), makePrivateKey()]
        yield* ethereum.setPrimaryName(key.address, name)
        yield* ethereum.setAddress(name, key.address)
        assert.strictEqual((yield* claimName(owner, key)).status, 200)
        const { id } = yield* Effect.flatten(repository.find(owner.user.id, owner.agent.id))
        yield* check(id)
        assert.isTrue((yield* recordOf(owner))["verified"])
        yield* move(key.address)
        yield* check(id)
        assert.deepStrictEqual(yield* lossesOf(owner), [{ type: "ens", reason }], name)
        assert.deepStrictEqual(yield* recordOf(owner), unverified)
      }
      const owner = yield* ownerWithWallet
      const uid = yield* base.attest(owner.wallet.address)
      yield* base.index(owner.wallet.address, uid)
      const signature = yield* signWith(owner.wallet, yield* openChallenge(owner, "coinbase"))
      assert.strictEqual((yield* verify(owner, "coinbase", { signature })).status, 200)
      const { id } = yield* Effect.flatten(repository.find(owner.user.id, owner.agent.id))
      yield* (yield* WalletRepository).remove(WalletAddress.make(owner.wallet.address))
      yield* check(id)
      assert.deepStrictEqual(yield* lossesOf(owner), [{ type: "coinbase", reason: "wallet_not_linked" }])
    }).pipe(Effect.provide(checks))
  )

  it.effect("An attestation that was issued again keeps the verification", () =>
    Effect.gen(function* () {
      const { base } = yield* Chains
      const owner = yield* ownerWithWallet
      const first = yield* base.attest(owner.wallet.address)
      yield* base.index(owner.wallet.address, first)
      const signature = yield* signWith(owner.wallet, yield* openChallenge(owner, "coinbase"))
      assert.strictEqual((yield* verify(owner, "coinbase", { signature })).status, 200)
      const found = yield* (yield* VerificationRepository).find(owner.user.id, owner.agent.id)
      const second = yield* base.attest(owner.wallet.address)
      yield* base.index(owner.wallet.address, second)
      yield* base.revoke(first)
      yield* (yield* VerificationChecks).check(Option.getOrThrow(found).id)
      assert.deepInclude(yield* recordOf(owner), { verified: true, attestationUid: second })
    }).pipe(Effect.provide(checks))
  )

  const checkWith = (id: VerificationId, find: AttestationRegistry["Type"]["find"]) =>
    Effect.flatMap(VerificationChecks, ({ check }) => check(id)).pipe(
      Effect.provide(Layer.provide(checks, Layer.mock(AttestationRegistry, { find })))
    )

  it.effect("A check changes nothing while the chain is unreachable or the owner verifies anew", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const owner = yield* ownerWithWallet
      const { id } = yield* verifyByAttestation(owner)
      yield* checkWith(id, () => new ChainUnreachable({ reason: "down" }))
      yield* checkWith(id, () =>
        Effect.as(Effect.orDie(sql`update agent_verifications set id = 'ver_new' where id = ${id}`), Option.none())
      )
      assert.isTrue((yield* recordOf(owner))["verified"])
      assert.deepStrictEqual(yield* lossesOf(owner), [])
      yield* checkWith(VerificationId.make("ver_new"), () => Effect.succeedNone)
      assert.deepStrictEqual(yield* lossesOf(owner), [{ type: "eas", reason: "attestation_missing" }])
    })
  )

  it.effect("Checks that are due are started once per interval, for verifications on chains only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { scheduleDue } = yield* VerificationChecks
      const [due, early, passkey] = [yield* ownerWithWallet, yield* ownerWithWallet, yield* createOwnerWithAgent()]
      const { id } = yield* verifyByAttestation(due)
      yield* verifyByAttestation(early)
      const { authenticator } = yield* registerAuthenticator(passkey)
      const signature = authenticator.sign(yield* openChallenge(passkey, "webauthn"))
      assert.strictEqual((yield* verify(passkey, "webauthn", { signature })).status, 200)
      yield* Effect.orDie(sql`
        update agent_verifications set next_check_at = now() - interval '1 second'
        where agent_id in (${due.agent.id}, ${passkey.agent.id})`)
      yield* Effect.replicateEffect(scheduleDue(), 3, { concurrency: "unbounded" })
      const jobs = yield* sql`select payload from outbox where name = 'check-verification'`.pipe(Effect.orDie)
      assert.deepStrictEqual(jobs, [{ payload: { verificationId: id } }])
    }).pipe(Effect.provide(checks))
  )
})
