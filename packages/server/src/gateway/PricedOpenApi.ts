import { gatewayPath } from "@berth/api/gateway/GatewayApi"
import { exampleGatewayBody } from "@berth/api/gateway/plugins/PluginBodies"
import { WebApi } from "@berth/api/WebApi"
import { paymentIntent, paymentMethod } from "@berth/domain/gateway/payments/Challenge"
import { convertUsdToTokenUnits } from "@berth/domain/gateway/payments/PaidRequest"
import { PaymentSettings } from "@berth/domain/gateway/payments/PaymentSettings"
import { PluginId } from "@berth/domain/gateway/plugins/Plugin"
import { PluginPrices, tokensPerPrice } from "@berth/domain/gateway/calls/PluginPrices"
import { HttpLayerRouter, HttpServerResponse, OpenApi } from "@effect/platform"
import { Effect } from "effect"

const describePrice = (plugin: PluginId) =>
  plugin === "generate-text"
    ? `${plugin}: every started ${tokensPerPrice} tokens, prompt and answer`
    : `${plugin}: one call`

/** What a machine is asked to pay, as its payment protocol's discovery reads it. A challenge says what counts. */
const paymentInfo = (prices: PluginPrices["Type"], { currency }: PaymentSettings["Type"]) => ({
  offers: PluginId.literals.map((plugin) => ({
    amount: String(convertUsdToTokenUnits(prices[plugin])),
    currency,
    description: describePrice(plugin),
    intent: paymentIntent,
    method: paymentMethod
  }))
})

/** The public contract with what its calls cost here. */
const makePricedOpenApi = Effect.gen(function* () {
  const info = paymentInfo(yield* PluginPrices, yield* PaymentSettings)
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
