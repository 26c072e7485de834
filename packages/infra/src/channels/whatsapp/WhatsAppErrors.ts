import { Data } from "effect"
import type { PlatformAnswerMalformed, PlatformConnectionFailed } from "../PlatformHttp.ts"

/** The Cloud API rejected a request. Excludes the API's text, which can quote phone numbers and tokens. */
export class WhatsAppRequestRejected extends Data.TaggedError("WhatsAppRequestRejected")<{
  readonly status: number
  /** Zero without a code. */
  readonly code: number
}> {}

export type WhatsAppFailure = PlatformConnectionFailed | WhatsAppRequestRejected | PlatformAnswerMalformed

type WhatsAppRejection =
  | "token-rejected"
  | "permission-missing"
  | "account-restricted"
  | "window-closed"
  | "recipient-unreachable"
  | "rate-limited"
  | "unavailable"
  | "invalid"

/** https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes */
const kindsByCode: ReadonlyMap<number, WhatsAppRejection> = new Map([
  [190, "token-rejected"],
  [3, "permission-missing"],
  [10, "permission-missing"],
  [131005, "permission-missing"],
  [368, "account-restricted"],
  [130497, "account-restricted"],
  [131031, "account-restricted"],
  [131042, "account-restricted"],
  [131045, "account-restricted"],
  [133010, "account-restricted"],
  [131047, "window-closed"],
  [130472, "recipient-unreachable"],
  [131021, "recipient-unreachable"],
  [131026, "recipient-unreachable"],
  [131030, "recipient-unreachable"],
  [131049, "recipient-unreachable"],
  [131050, "recipient-unreachable"],
  [4, "rate-limited"],
  [17, "rate-limited"],
  [32, "rate-limited"],
  [613, "rate-limited"],
  [80007, "rate-limited"],
  [80008, "rate-limited"],
  [130429, "rate-limited"],
  [131048, "rate-limited"],
  [131056, "rate-limited"],
  [1, "unavailable"],
  [2, "unavailable"],
  [131000, "unavailable"],
  [131016, "unavailable"],
  [131057, "unavailable"],
  [133004, "unavailable"]
])

/** Classifies by the code; by the status if the code is absent or unknown. */
export const classifyWhatsAppRejection = ({
  code,
  status
}: Pick<WhatsAppRequestRejected, "code" | "status">): WhatsAppRejection => {
  const kind = kindsByCode.get(code)
  if (kind !== undefined) return kind
  if (code >= 200 && code <= 299) return "permission-missing"
  if (status === 401) return "token-rejected"
  if (status === 429) return "rate-limited"
  return status >= 500 ? "unavailable" : "invalid"
}

const sentences: Record<WhatsAppRejection, string> = {
  "token-rejected": "WhatsApp rejects the access token; create a new one and set platformBToken.",
  "permission-missing":
    "The WhatsApp access token needs the permissions whatsapp_business_messaging and whatsapp_business_management.",
  "account-restricted":
    "WhatsApp restricts the business account or its phone number; resolve the restriction in WhatsApp Manager.",
  "window-closed": "More than 24 hours have passed since the recipient's last message; WhatsApp then refuses replies.",
  "recipient-unreachable": "WhatsApp cannot deliver messages to this recipient.",
  "rate-limited": "WhatsApp limits the rate of this account.",
  unavailable: "WhatsApp is unavailable.",
  invalid: "WhatsApp refuses the request."
}

export const describeWhatsAppRejection = (rejection: WhatsAppRequestRejected): string =>
  `${sentences[classifyWhatsAppRejection(rejection)]} (error ${rejection.code}, status ${rejection.status})`
