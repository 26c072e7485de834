import { Layer } from "effect"
import * as PostgresWebhookDeliveryRepository from "./PostgresWebhookDeliveryRepository.ts"
import * as PostgresWebhookEndpointRepository from "./PostgresWebhookEndpointRepository.ts"

export const layer = Layer.merge(PostgresWebhookEndpointRepository.layer, PostgresWebhookDeliveryRepository.layer)
