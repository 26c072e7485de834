import { gatewayPath } from "@berth/api/gateway/GatewayApi"
import { exampleGatewayBody } from "@berth/api/gateway/plugins/PluginBodies"
import { agentSocketDocumentPath } from "@berth/api/interaction/AgentSocketDocument"
import { developmentPlanPath } from "@berth/api/billing/subscriptions/DevelopmentPlansApi"
import { WebApi } from "@berth/api/WebApi"
import { BillingSettings } from "@berth/domain/billing/BillingSettings"
import { paymentIntent, paymentMethod } from "@berth/domain/gateway/payments/Challenge"
import { convertUsdToTokenUnits } from "@berth/domain/gateway/payments/PaidRequest"
import { GatewaySettings } from "@berth/domain/gateway/GatewaySettings"
import { PluginId } from "@berth/domain/gateway/plugins/Plugin"
import { tokensPerPrice } from "@berth/domain/gateway/calls/PluginPrices"
import { HttpLayerRouter, HttpServerResponse, OpenApi } from "@effect/platform"
import { Effect, Option } from "effect"
import { makeCompressedDocument } from "../http/CompressedDocument.ts"
import { SessionCookie } from "../http/SecretCookies.ts"
import { WebSettings } from "../http/WebSettings.ts"

const describePrice = (plugin: PluginId) =>
  plugin === "generate-text"
    ? `${plugin}: every started ${tokensPerPrice} tokens, prompt and answer`
    : `${plugin}: one call`

/** Payment offers for discovery by the payment protocol. The challenge of a call is authoritative. */
const paymentInfo = ({ payments, prices }: GatewaySettings["Type"]) => ({
  offers: Option.toArray(payments).flatMap(({ currency }) =>
    PluginId.literals.map((plugin) => ({
      amount: String(convertUsdToTokenUnits(prices[plugin])),
      currency,
      description: describePrice(plugin),
      intent: paymentIntent,
      method: paymentMethod
    }))
  )
})

/** The public contract with the prices and the session cookie of this installation, without disabled routes. */
const makePricedOpenApi = Effect.gen(function* () {
  const info = paymentInfo(yield* GatewaySettings)
  const { appUrl } = yield* WebSettings
  const { name: cookieName } = yield* SessionCookie
  const document = OpenApi.fromApi(WebApi)
  const { offersPlansWithoutPayment } = yield* BillingSettings
  const { [developmentPlanPath]: developmentPlan, ...paths } = document.paths
  const path = document.paths[gatewayPath]
  const json = path?.post?.requestBody?.content["application/json"]
  return {
    ...document,
    components: {
      ...document.components,
      securitySchemes: {
        ...document.components.securitySchemes,
        session: { ...document.components.securitySchemes["session"], name: cookieName }
      }
    },
    "x-service-info": { docs: { apiReference: "/docs" } },
    // The specification requires an absolute address.
    externalDocs: {
      url: new URL(agentSocketDocumentPath, appUrl).href,
      description: "The agents' WebSocket, in AsyncAPI 3"
    },
    paths: {
      ...paths,
      ...(offersPlansWithoutPayment && { [developmentPlanPath]: developmentPlan }),
      [gatewayPath]: {
        ...path,
        post: {
          ...path?.post,
          "x-payment-info": info,
          requestBody: {
            ...path?.post?.requestBody,
            content: {
              ...path?.post?.requestBody?.content,
              "application/json": { ...json, example: exampleGatewayBody }
            }
          }
        }
      }
    }
  }
})

/** Serves `/openapi.json` on the public listener; built by the first request. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const settings = yield* Effect.context<GatewaySettings | BillingSettings | SessionCookie | WebSettings>()
    const document = makePricedOpenApi.pipe(
      Effect.flatMap((document) => makeCompressedDocument(HttpServerResponse.unsafeJson(document))),
      Effect.provide(settings)
    )
    yield* router.add("GET", "/openapi.json", Effect.flatten(yield* Effect.cached(document)))
  })
)
