import { Layer } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import * as OutboundClient from "../net/OutboundClient.ts"
import * as HttpWebPages from "../web-pages/HttpWebPages.ts"

/** Requests to addresses that users and agents choose. */
export const fromSettings = ({ outboundAllowCidrs }: Settings) => OutboundClient.layer({ allowed: outboundAllowCidrs })

export const webPagesFromSettings = (settings: Settings) => Layer.provide(HttpWebPages.layer, fromSettings(settings))
