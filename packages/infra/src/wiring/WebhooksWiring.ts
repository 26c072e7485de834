import { Layer } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import * as OutboundClient from "../net/OutboundClient.ts"
import * as StandardWebhooksReceiver from "../webhooks/StandardWebhooksReceiver.ts"

export const fromSettings = ({ outboundAllowCidrs }: Pick<Settings, "outboundAllowCidrs">) =>
  Layer.provide(StandardWebhooksReceiver.layer(), OutboundClient.layer({ allowed: outboundAllowCidrs }))
