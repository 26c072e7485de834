import { Layer } from "effect"
import * as PostgresChannelConnections from "./PostgresChannelConnections.ts"
import * as PostgresChats from "./PostgresChats.ts"

export const layer = Layer.merge(PostgresChannelConnections.layer, PostgresChats.layer)
