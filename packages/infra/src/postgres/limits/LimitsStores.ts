import { Layer } from "effect"
import * as PostgresIdempotencyKeys from "./PostgresIdempotencyKeys.ts"
import * as PostgresIdempotentExecution from "./PostgresIdempotentExecution.ts"

export const layer = Layer.mergeAll(PostgresIdempotencyKeys.layer, PostgresIdempotentExecution.layer)
