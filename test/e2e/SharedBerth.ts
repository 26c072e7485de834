import type { PgClient } from "@effect/sql-pg/PgClient"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Vitest } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { makeFakeAnthropic } from "../fakes/models/FakeAnthropic.ts"
import { makeFakeGoogle } from "../fakes/models/FakeGoogle.ts"
import type { FakeModelVendor } from "../fakes/models/FakeModelVendor.ts"
import { type FakeOpenAi, makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { startTempoNetwork, type TempoNetwork } from "../fakes/payments/TempoNetwork.ts"
import { type FakeStripe, makeFakeStripe } from "../fakes/stripe/FakeStripe.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { paymentRecipient } from "../support/payments/PaymentFixtures.ts"
import { makeTcpProxy } from "../support/TcpProxy.ts"
import { type Berth, startBerth } from "./BerthProcess.ts"
import * as Records from "./ServiceDatabase.ts"

/** One running Berth with fakes of its vendors, for tests without own settings. */
export class SharedBerth extends Context.Tag("@berth/test/SharedBerth")<
  SharedBerth,
  {
    readonly berth: Berth
    readonly databaseUrl: Redacted.Redacted
    readonly internalApiKey: Redacted.Redacted
    readonly openai: FakeOpenAi
    readonly anthropic: FakeModelVendor
    readonly google: FakeModelVendor
    readonly network: TempoNetwork
    readonly cards: FakeStripe
    /** Replaces the fake of OpenAI by another server. */
    readonly replaceOpenAi: (baseUrl: string) => Effect.Effect<void>
  }
>() {}

export type SharedBerthPart = (it: Vitest.MethodsNonLive<SharedBerth | SqlClient | PgClient, true>) => void

export const model = "openai/gpt-4o-mini"

/** The discard port: tests do not read the public model list. */
export const openRouterUrl = "http://127.0.0.1:9/api/v1"

export const layer = Layer.unwrapScoped(
  Effect.gen(function* () {
    const databaseUrl = yield* migratedDatabase
    const openai = yield* makeFakeOpenAi()
    const { acceptConnections, moveTo, rejectConnections, url } = yield* makeTcpProxy(Redacted.make(openai.baseUrl))
    const [anthropic, google] = [yield* makeFakeAnthropic, yield* makeFakeGoogle]
    const network = yield* startTempoNetwork
    const cards = yield* makeFakeStripe
    const internalApiKey = randomBytes(32).toString("base64url")
    const berth = yield* startBerth({
      databaseUrl,
      environment: {
        OPENAI_BASE_URL: Redacted.value(url),
        OPENAI_API_KEY: openai.apiKey,
        ANTHROPIC_BASE_URL: anthropic.baseUrl,
        ANTHROPIC_API_KEY: anthropic.apiKey,
        GOOGLE_BASE_URL: google.baseUrl,
        GOOGLE_API_KEY: google.apiKey,
        OPENROUTER_BASE_URL: openRouterUrl,
        MPP_CHAIN_ID: String(network.chainId),
        MPP_RPC_URL: network.url,
        MPP_RECIPIENT: paymentRecipient,
        STRIPE_WEBHOOK_SECRET: cards.webhookSecret,
        INTERNAL_API_KEY: internalApiKey,
        LIMIT_REGISTER: "1000/1h"
      }
    })
    return Layer.merge(
      Layer.succeed(SharedBerth, {
        berth,
        databaseUrl,
        internalApiKey: Redacted.make(internalApiKey),
        openai,
        anthropic,
        google,
        network,
        cards,
        replaceOpenAi: (baseUrl) =>
          Effect.all([moveTo(Redacted.make(baseUrl)), rejectConnections, acceptConnections], { discard: true })
      }),
      Records.layer(databaseUrl)
    )
  })
)
