import { Layer } from "effect"
import * as PostgresAgentRunRepository from "./PostgresAgentRunRepository.ts"
import * as PostgresScheduleRepository from "./PostgresScheduleRepository.ts"

export const layer = Layer.merge(PostgresScheduleRepository.layer, PostgresAgentRunRepository.layer)
