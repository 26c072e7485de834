import { gatewayPath } from "@berth/api/gateway/GatewayApi"
import { exampleGatewayBody } from "@berth/api/gateway/plugins/PluginBodies"
import { WebApi } from "@berth/api/WebApi"
import { paymentIntent, paymentMethod } from "@berth/domain/gateway/payments/Challenge"
import { convertUsdToTokenUnits } from "@berth/domain/gateway/payments/PaidRequest"
import { GatewaySettings } from "@berth/domain/gateway/GatewaySettings"
import { PluginId } from "@berth/domain/gateway/plugins/Plugin"
import { tokensPerPrice } from "@berth/domain/gateway/calls/PluginPrices"
import { HttpLayerRouter, HttpServerResponse, OpenApi } from "@effect/platform"
import { Effect } from "effect"

const describePrice = (plugin: PluginId) =>
  plugin === "generate-text"
    ? `${plugin}: every started ${tokensPerPrice} tokens, prompt and answer`
    : `${plugin}: one call`

/** Offers for the discovery of the payment protocol. The challenge of a call is authoritative. */
const paymentInfo = ({ payments: { currency }, prices }: GatewaySettings["Type"]) => ({
  offers: PluginId.literals.map((plugin) => ({
    amount: String(convertUsdToTokenUnits(prices[plugin])),
    currency,
    description: describePrice(plugin),
    intent: paymentIntent,
    method: paymentMethod
  }))
})

/** The public contract with the prices of this service. */
const makePricedOpenApi = Effect.gen(function* () {
  const info = paymentInfo(yield* GatewaySettings)
  const document = OpenApi.fromApi(WebApi)
  const path = document.paths[gatewayPath]
  const json = path?.post?.requestBody?.content["application/json"]
  return {
    ...document,
    "x-service-info": { docs: { apiReference: "/docs" } },
    paths: {
      ...document.paths,
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

/** `/openapi.json` of the public listener. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.flatMap(makePricedOpenApi, (document) =>
    router.add("GET", "/openapi.json", HttpServerResponse.unsafeJson(document))
  )
)
