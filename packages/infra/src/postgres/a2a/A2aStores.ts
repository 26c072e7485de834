import { Layer } from "effect"
import * as PostgresA2aRepository from "./PostgresA2aRepository.ts"
import * as PostgresA2aTaskRepository from "./PostgresA2aTaskRepository.ts"
import * as PostgresPushNotificationRepository from "./PostgresPushNotificationRepository.ts"

export const layer = Layer.mergeAll(
  PostgresA2aRepository.layer,
  PostgresA2aTaskRepository.layer,
  PostgresPushNotificationRepository.layer
)
