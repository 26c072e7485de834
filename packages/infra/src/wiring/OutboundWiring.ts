import { Layer } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import * as SdkMcpClient from "../mcp/SdkMcpClient.ts"
import * as OutboundClient from "../net/OutboundClient.ts"
import * as StandardWebhooksReceiver from "../webhooks/StandardWebhooksReceiver.ts"
import * as HttpWebPages from "../web-pages/HttpWebPages.ts"

/** Requests to addresses chosen by users and agents. */
const fromSettings = ({ outboundAllowCidrs }: Pick<Settings, "outboundAllowCidrs">) =>
  OutboundClient.layer({ allowed: outboundAllowCidrs })

/** Web pages and MCP servers for turns of agents. */
export const turnsFromSettings = (settings: Settings) =>
  Layer.provide(Layer.merge(HttpWebPages.layer, SdkMcpClient.layer), fromSettings(settings))

/** Requests to the receivers of events. */
export const webhooksFromSettings = (settings: Pick<Settings, "outboundAllowCidrs">) =>
  Layer.provide(StandardWebhooksReceiver.layer(), fromSettings(settings))
