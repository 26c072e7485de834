import { type DeveloperPlatform, DeveloperWallets } from "@berth/domain/wallets/DeveloperWallets"
import { type CdpSettings, layer as cdpLayer } from "@berth/infra/cdp/CdpDeveloperWallets"
import { parseApiKeySecret } from "@berth/infra/cdp/CdpKeys"
import { FetchHttpClient } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Layer, Redacted } from "effect"
import { execFile } from "node:child_process"
import { generateKeyPairSync, randomUUID } from "node:crypto"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { makeShellEnvironment } from "../e2e/BerthProcess.ts"
import { makeEd25519Secret, makeFakeCdp } from "../fakes/cdp/FakeCdp.ts"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"

/** Pinned viem: the version that the SDK selects does not install. */
const sdkPackages = ["@coinbase/cdp-sdk@1.57.0", "viem@2.57.0"]

const wallet = { name: "berth-01234567-one", idempotencyKey: "8e03978e-40d5-43e8-bc93-6894a57f9324" }

const withPlatform = <A, E>(settings: CdpSettings, use: (platform: DeveloperPlatform) => Effect.Effect<A, E>) =>
  Effect.flatMap(Effect.flatten(DeveloperWallets), use).pipe(
    Effect.provide(Layer.provide(cdpLayer(settings), FetchHttpClient.layer))
  )

describe("CdpDeveloperWallets", () => {
  it.scopedLive("CdpDeveloperWallets creates one account by requests that the platform verifies", () =>
    Effect.gen(function* () {
      const cdp = yield* makeFakeCdp
      const address = yield* withPlatform(cdp.settings, ({ create }) => create(wallet))
      assert.deepStrictEqual([...cdp.accounts], [[wallet.name, address]])
      assert.deepStrictEqual([cdp.idempotencyKeys, cdp.refusals], [[wallet.idempotencyKey], []])
    })
  )

  it.scopedLive("CdpDeveloperWallets makes no second wallet when answers are lost or the platform fails", () =>
    Effect.gen(function* () {
      const cdp = yield* makeFakeCdp
      yield* cdp.behave("fail before the effect", "lose the answer")
      const address = yield* withPlatform(cdp.settings, ({ create }) => create(wallet))
      assert.deepStrictEqual([...cdp.accounts], [[wallet.name, address]])
      assert.deepStrictEqual(cdp.idempotencyKeys, [wallet.idempotencyKey, wallet.idempotencyKey])
      // After the vendor has expired the key, the name still identifies the account.
      const again = yield* withPlatform(cdp.settings, ({ create }) =>
        create({ ...wallet, idempotencyKey: "9e03978e-40d5-43e8-bc93-6894a57f9324" })
      )
      assert.strictEqual(again, address)
    })
  )

  it.scopedLive("CdpDeveloperWallets fails without the vendor's text when the platform stays away", () =>
    Effect.gen(function* () {
      const cdp = yield* makeFakeCdp
      yield* cdp.behave("fail before the effect", "fail before the effect", "fail before the effect", "limit")
      for (const status of [500, 429]) {
        const error = yield* Effect.flip(withPlatform(cdp.settings, ({ create }) => create(wallet)))
        assert.deepInclude(error, {
          _tag: "DeveloperWalletFailed",
          reason: `the wallet provider answered ${status}`
        })
      }
      const nowhere = { ...cdp.settings, apiUrl: new URL("http://127.0.0.1:1/platform") }
      const error = yield* Effect.flip(withPlatform(nowhere, ({ create }) => create(wallet)))
      assert.deepInclude(error, { reason: "the wallet provider did not answer" })
    })
  )

  it.scopedLive("CdpDeveloperWallets is refused with another API key or another wallet secret", () =>
    Effect.gen(function* () {
      const cdp = yield* makeFakeCdp
      const apiKey = Either.getOrThrow(parseApiKeySecret(Redacted.make(makeEd25519Secret().secret)))
      const walletKey = {
        key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
        algorithm: "ES256" as const
      }
      for (const changes of [{ apiKey }, { walletKey }, { apiKeyId: "another" }]) {
        const error = yield* Effect.flip(withPlatform({ ...cdp.settings, ...changes }, ({ create }) => create(wallet)))
        assert.deepInclude(error, { reason: "the wallet provider answered 401" })
      }
      assert.strictEqual(cdp.accounts.size, 0)
    })
  )

  // The SDK is too large for every run.
  if (process.env["TEST_CDP"] === "sdk")
    it.scopedLive(
      "The platform of these tests accepts the vendor's SDK, which finds the account that Berth created, and the reverse",
      () =>
        Effect.gen(function* () {
          const cdp = yield* makeFakeCdp
          const directory = yield* temporaryDirectory
          const run = (command: string, ...args: ReadonlyArray<string>) =>
            Effect.promise(async () => {
              const env = {
                ...makeShellEnvironment(),
                CDP_API_KEY_ID: cdp.secrets.apiKeyId,
                CDP_API_KEY_SECRET: cdp.secrets.apiKeySecret,
                CDP_WALLET_SECRET: cdp.secrets.walletSecret,
                DISABLE_CDP_ERROR_REPORTING: "true",
                DISABLE_CDP_USAGE_TRACKING: "true"
              }
              return promisify(execFile)(command, args, { cwd: directory, env })
            })
          yield* Effect.promise(async () => writeFile(join(directory, "package.json"), "{}"))
          yield* run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", ...sdkPackages)
          const own = yield* withPlatform(cdp.settings, ({ create }) => create(wallet))
          const script = `
          import { CdpClient } from "@coinbase/cdp-sdk"
          const { evm } = new CdpClient({ basePath: "${cdp.settings.apiUrl.href}" })
          const made = await evm.createAccount({ name: "made-by-sdk", idempotencyKey: "${randomUUID()}" })
          const found = await evm.getAccount({ name: "${wallet.name}" })
          console.log(JSON.stringify([made.address, found.address]))`
          const { stdout } = yield* run(process.execPath, "--input-type=module", "--eval", script)
          assert.deepStrictEqual(JSON.parse(stdout), [cdp.accounts.get("made-by-sdk"), own])
          const again = { name: "made-by-sdk", idempotencyKey: randomUUID() }
          assert.strictEqual(
            yield* withPlatform(cdp.settings, ({ create }) => create(again)),
            cdp.accounts.get("made-by-sdk")
          )
          assert.deepStrictEqual(cdp.refusals, [])
        })
    )
})
