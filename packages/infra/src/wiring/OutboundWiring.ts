import { Layer } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import * as SdkMcpClient from "../mcp/SdkMcpClient.ts"
import * as OutboundClient from "../net/OutboundClient.ts"
import * as HttpWebPages from "../web-pages/HttpWebPages.ts"

/** Requests to addresses chosen by users and agents. */
const fromSettings = ({ outboundAllowCidrs }: Settings) => OutboundClient.layer({ allowed: outboundAllowCidrs })

/** Web pages and MCP servers for turns of agents. */
export const turnsFromSettings = (settings: Settings) =>
  Layer.provide(Layer.merge(HttpWebPages.layer, SdkMcpClient.layer), fromSettings(settings))
